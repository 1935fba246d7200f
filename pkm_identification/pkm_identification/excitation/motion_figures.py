"""What a motion is worth for identification: information, standard deviations, directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.drive_distribution import DriveDistribution, all_drives
from pkm_dynamics.parameters.base_parameters import BaseParameters
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.arrays import Array
from pkm_identification.excitation.excitation_design import ExcitationDesign
from pkm_identification.excitation.information import (
    information_factor,
    parameter_directions,
    sample_count,
    whitening_of,
)
from pkm_identification.excitation.search.criteria import figures, standard_deviations

RATE = 1000.0  # [Hz] of the figures
BLOCK = 4096  # samples whose regressor is in memory at once
DESIGN_NOISE = 'as designed'
SAME = 1e-6  # relative difference of two information matrices of one motion


def noise_covariance(model: ClosedChainModel, noise: str) -> Array | None:
    """Return the force covariance (n_a, n_a) [N^2] of a choice of `NOISE`; None: unit."""
    if noise != 'simulated':
        return None
    covariance = np.asarray(PlantEffects.from_description(model.description).force_covariance)
    drives = all_drives(model)
    if not isinstance(drives, DriveDistribution):
        return covariance
    at_home = model.home_actuators[None], *np.zeros((2, 1, model.n_a))
    rates = drives.drive_jacobian(model.motion_from_actuators(*at_home))[0]
    return np.asarray(rates.T @ covariance @ rates)


def excitation_figures(
    model: ClosedChainModel,
    trajectory: Trajectory,
    periods: int = 1,
    *,
    rate: float = RATE,
    covariance: ArrayLike | None = None,
    prior: ArrayLike | None = None,
) -> dict[str, Any]:
    """Return the identification figures of a motion, from all of its samples.

    For `periods` runs or periods, each sampled at the same phases with `rate` [Hz], with the
    covariance (n_a, n_a) [N^2] of the force noise of one sample (unit variance by default) and the
    information (n, n) that is there already (`prior`).
    """
    base = model.base_parameters(shared=True, reduced=True)
    factor = folded_regressor(model, base, trajectory, rate, whitening_of(covariance, model.n_a))
    samples = sample_count(trajectory, rate) * periods
    return _figures(model, base, np.sqrt(periods) * factor, prior, samples)


def design_figures(
    model: ClosedChainModel, design: ExcitationDesign, periods: int = 1, noise: str | None = None
) -> tuple[dict[str, Any], str]:
    """Return the figures of a saved design, prior included, and of which noise they are.

    They are computed anew, at the design's sampling rate. The noise is the given one, else
    that which is recorded in the design, else unit variance. Where that does not give the
    information matrix that the design holds (it was made for a covariance that the file
    does not tell), the figures follow from this matrix.
    """
    chosen = noise or str(design.origin.get('noise', 'unit'))
    rate = float(design.figures.get('sampling_rate', RATE))
    base = model.base_parameters(shared=True, reduced=True)
    covariance = noise_covariance(model, chosen)
    whitening = whitening_of(covariance, model.n_a)
    factor = folded_regressor(model, base, design.trajectory, rate, whitening)
    held = design.period_information
    if noise is None and held is not None and held.shape == (base.rank, base.rank):
        size = np.sqrt(np.outer(np.diag(held), np.diag(held)))
        if np.abs((factor.T @ factor - held) / size).max() > SAME:
            chosen, factor = DESIGN_NOISE, information_factor(held)
    samples = sample_count(design.trajectory, rate) * periods
    prior = design.prior
    return _figures(model, base, np.sqrt(periods) * factor, prior, samples), chosen


def folded_regressor(
    model: ClosedChainModel,
    base: BaseParameters,
    trajectory: Trajectory,
    rate: float,
    whitening: Array,
) -> Array:
    """Return R (<= n, n), R^T R the information of one run sampled at `rate` [Hz].

    The regressor of a block of samples is folded into R by QR, so that memory does not grow with
    the length of the motion.
    """
    time = np.arange(sample_count(trajectory, rate)) / rate
    factor = np.empty((0, base.rank))
    for begin in range(0, len(time), BLOCK):
        motion = trajectory.motion(time[begin : begin + BLOCK], model)
        rows = np.einsum('ab,tbn->tan', whitening, base.regressor(motion)).reshape(-1, base.rank)
        factor = qr(np.concatenate([factor, rows]), mode='r')[0][: base.rank]
    return factor


def _figures(
    model: ClosedChainModel,
    base: BaseParameters,
    factor: Array,
    prior: ArrayLike | None,
    samples: int,
) -> dict[str, Any]:
    known = [] if prior is None else [information_factor(np.asarray(prior, dtype=float))]
    rows = np.concatenate([factor, *known])
    values = figures(rows)
    deviations = standard_deviations(rows)
    directions = parameter_directions(rows.T @ rows, base.names)
    nominal = base.matrix @ np.asarray(model.nominal_parameters)
    return {
        **values,
        'parameters': base.rank,
        'samples': samples,
        'standard_deviation': dict(zip(base.names, deviations.tolist(), strict=True)),
        'nominal': dict(zip(base.names, nominal.tolist(), strict=True)),
        'units': dict(zip(base.names, base.units, strict=True)),
        'expressions': dict(zip(base.names, base.expressions, strict=True)),
        'directions': [
            {'standard_deviation': d.standard_deviation, 'components': d.components}
            for d in (directions[0], directions[-1])  # they bound the condition number
        ],
    }
