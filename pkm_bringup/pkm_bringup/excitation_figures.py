"""Figures and margins of an excitation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pkm_bringup.excitation_picture import plot_excitation
from pkm_dynamics.feasibility import FeasibilityReport, check_feasibility
from pkm_dynamics.trajectories import Execution, Trajectory
from pkm_identification.excitation.criteria import figures, standard_deviations

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

__all__ = ['check_run', 'excitation_figures', 'margin_rows', 'plot_excitation']

RATE = 1000.0  # [Hz] of the figures
INSTANTS = 400  # samples for the parameters' sensitivity


def check_run(
    model: ClosedChainModel, trajectory: Trajectory, ramp_time: float, start: bool
) -> FeasibilityReport:
    """Check one run from standstill to standstill; from home if `start`."""
    begin = model.home_actuators if start and trajectory.coordinates == 'actuators' else None
    if start and trajectory.coordinates == 'platform':
        from pkm_dynamics.rotations import rotation_to_rpy

        begin = np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])
    ramp = 0.0 if trajectory.period is None else ramp_time
    return check_feasibility(model, Execution(trajectory, 1, ramp, begin))


def margin_rows(report: FeasibilityReport) -> list[dict[str, Any]]:
    """Return the worst case of every constraint, the tightest first."""
    ordered = sorted(report.margins.values(), key=lambda margin: margin.relative)
    return [
        {
            'constraint': margin.constraint,
            'where': margin.name,
            'time': margin.time,
            'value': margin.value,
            'limit': margin.limit,
            'margin': margin.margin,
            'unit': margin.unit,
        }
        for margin in ordered
    ]


def excitation_figures(
    model: ClosedChainModel, trajectory: Trajectory, periods: int = 1
) -> dict[str, Any]:
    """Return the identification figures at 1 kHz, for unit variance of the forces.

    The regressor is evaluated at `INSTANTS` instants and scaled to the full rate, which
    is exact for a band-limited motion with fewer harmonics than that.

    Parameters
    ----------
    periods : int
        Runs or periods that the figures are for.

    Raises
    ------
    EstimationError
        The motion does not excite all parameters.
    """
    base = model.base_parameters(shared=True, reduced=True)
    samples = max(round(trajectory.duration * RATE), 1)
    instants = min(samples, INSTANTS)
    motion = trajectory.motion(np.arange(instants) / instants * trajectory.duration, model)
    scale = np.sqrt(periods * samples / instants)
    regressor = base.regressor(motion).reshape(-1, base.rank) * scale
    values = figures(regressor)
    deviations = standard_deviations(regressor)
    nominal = base.matrix @ np.asarray(model.nominal_parameters)
    return {
        **values,
        'parameters': base.rank,
        'samples': samples * periods,
        'standard_deviation': dict(zip(base.names, deviations.tolist(), strict=True)),
        'nominal': dict(zip(base.names, nominal.tolist(), strict=True)),
        'units': dict(zip(base.names, base.units, strict=True)),
    }
