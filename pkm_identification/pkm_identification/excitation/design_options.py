"""Options of a design, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import TrajectoryError
from pkm_dynamics import BaseParameters, ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_dynamics.trajectories.base import finite_number
from pkm_identification.arrays import Array
from pkm_identification.excitation.excitation_design import ExcitationDesign
from pkm_identification.excitation.information import checked_information
from pkm_identification.excitation.search.constraints import DesignLimits
from pkm_identification.regression.prior import whitened
from pkm_identification.result.result import IdentificationResult

MOST_HARMONICS = 100  # more are thousands of unknowns, which no search of minutes can place
PERIOD_ENDS = 1e-3, 3600.0  # [s], what a robot can do and a session can wait for
RATE_ENDS = 1e-3, 1e6  # [Hz]
MOST_SAMPLES = 20_000_000  # of the longest period, at the sampling rate: minutes of regressors


def require_types(
    model: object, limits: object, initial: object, progress: object, cancel: object
) -> None:
    """Refuse arguments of another type than `design_excitation` names."""
    a_model = 'a ClosedChainModel: ClosedChainModel(pkm_description.load(robot))'
    arguments: tuple[tuple[str, object, Any, str], ...] = (
        ('model', model, ClosedChainModel, a_model),
        ('limits', limits, DesignLimits | None, 'DesignLimits(...) or None'),
        (
            'initial',
            initial,
            FourierTrajectory | ExcitationDesign | None,
            'a FourierTrajectory, an ExcitationDesign or None',
        ),
        ('progress', progress, Callable | None, 'callable or None'),
        ('cancel', cancel, Callable | Event | None, 'callable, a threading.Event or None'),
    )
    for name, value, kinds, wanted in arguments:
        if not isinstance(value, kinds):
            raise TrajectoryError(f'{name} must be {wanted}, not {type(value).__name__}')


def require_counts(**counts: tuple[Any, int, int | None]) -> None:
    """Refuse what is no whole number between its least and largest value (None: none)."""
    for name, (value, least, most) in counts.items():
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or value < least or (most is not None and value > most):
            between = f'>= {least}' if most is None else f'between {least} and {most}'
            raise TrajectoryError(f'{name} must be a whole number {between}, not {value!r}')


def require_times(period: Any, sampling_rate: Any, measuring_time: Any) -> None:
    """Refuse times [s] and rates [Hz] that are no sensible numbers."""
    if period is not None:
        finite_number('period', period, positive=True, within=PERIOD_ENDS)
    finite_number('sampling_rate', sampling_rate, positive=True, within=RATE_ENDS)
    if measuring_time is not None:
        finite_number('measuring_time', measuring_time, positive=True)


def initial_trajectory(
    initial: FourierTrajectory | ExcitationDesign | None, model: ClosedChainModel
) -> FourierTrajectory | None:
    """Return the trajectory to start from, its coordinates in the order of the model."""
    found = initial.trajectory if isinstance(initial, ExcitationDesign) else initial
    if found is None:
        return None
    require_robot(found.robot, model, 'initial')
    ordered = found.ordered(model.actuated_joints)
    assert isinstance(ordered, FourierTrajectory)
    return ordered


def require_robot(name: str, model: ClosedChainModel, what: str) -> None:
    """Refuse what was made for a robot of another name; no name fits any robot."""
    own = model.description.name
    if name not in ('', own):
        raise TrajectoryError(f"{what} is for robot '{name}', not for '{own}'")


def prior_information(
    prior: ArrayLike | ExcitationDesign | IdentificationResult | None,
    model: ClosedChainModel,
    base: BaseParameters,
) -> Array | None:
    """Return the information (n, n) about the base parameters that is there already.

    An earlier design counts with one period of its own, an identification with the inverse of its
    covariance: nothing where a variance is infinite, so that what it tells of such a parameter
    together with others does not count.
    """
    if prior is None:
        return None
    if isinstance(prior, ExcitationDesign):
        require_robot(prior.trajectory.robot, model, 'prior: the earlier design')
        _require_names(prior.names, base.names, 'the earlier design')
        return prior.information(1)
    if not isinstance(prior, IdentificationResult):
        return checked_information(prior, len(base.names))
    require_robot(prior.robot, model, 'prior: the identification')
    _require_names(prior.names, base.names, 'the identification')
    variance = np.diag(prior.covariance)
    if not (variance > 0.0).all():
        exact = base.names[int(np.argmin(variance > 0.0))]
        raise TrajectoryError(
            f"prior: the identification gives '{exact}' no uncertainty: no information matrix"
        )
    rows, _ = whitened(prior.values, prior.covariance)
    return np.asarray(rows.T @ rows)


def _require_names(found: Sequence[str], names: Sequence[str], what: str) -> None:
    if list(found) != list(names):
        other = next((n for n in (*found, *names) if n not in found or n not in names), 'order')
        raise TrajectoryError(
            f'prior: {what} is about other parameters ({len(found)} against {len(names)}; '
            f"'{other}' is not in both): take the same options `shared` and `reduced`"
        )
