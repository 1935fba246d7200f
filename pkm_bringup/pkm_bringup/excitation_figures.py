"""Figures, margins and a picture of an excitation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pkm_dynamics.feasibility import FeasibilityReport, check_feasibility
from pkm_dynamics.trajectories import Execution, Trajectory
from pkm_identification.excitation.criteria import figures, standard_deviations

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

RATE = 1000.0  # [Hz] of the figures
INSTANTS = 400  # samples for the parameters' sensitivity


def check_run(
    model: ClosedChainModel, trajectory: Trajectory, ramp_time: float, start: bool
) -> FeasibilityReport:
    """Check one run from standstill to standstill; from home if `start`."""
    if trajectory.period is None:
        return check_feasibility(model, Execution(trajectory))
    begin = model.home_actuators if start and trajectory.coordinates == 'actuators' else None
    if start and trajectory.coordinates == 'platform':
        from pkm_dynamics.rotations import rotation_to_rpy

        begin = np.concatenate([model.home_position, rotation_to_rpy(model.home_rotation)])
    return check_feasibility(model, Execution(trajectory, 1, ramp_time, begin))


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


def excitation_figures(model: ClosedChainModel, trajectory: Trajectory) -> dict[str, Any]:
    """Return the identification figures of one run at 1 kHz, for unit variance of the forces.

    The regressor is evaluated at `INSTANTS` instants and scaled to the full rate, which
    is exact for a band-limited motion with fewer harmonics than that.

    Raises
    ------
    EstimationError
        The motion does not excite all parameters.
    """
    base = model.base_parameters(shared=True, reduced=True)
    samples = max(round(trajectory.duration * RATE), 1)
    instants = min(samples, INSTANTS)
    motion = trajectory.motion(np.arange(instants) / instants * trajectory.duration, model)
    regressor = base.regressor(motion).reshape(-1, base.rank) * np.sqrt(samples / instants)
    values = figures(regressor)
    deviations = standard_deviations(regressor)
    return {
        **values,
        'parameters': base.rank,
        'samples': samples,
        'standard_deviation': dict(zip(base.names, deviations.tolist(), strict=True)),
        'units': dict(zip(base.names, base.units, strict=True)),
    }


def plot_excitation(model: ClosedChainModel, trajectory: Trajectory, path: Path) -> None:
    """Write a picture: positions, velocities and forces of the actuators over one run."""
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    time = np.linspace(0.0, trajectory.duration, 1001)
    motion = trajectory.motion(time, model)
    states = model.actuator_states(motion)
    forces = model.inverse_dynamics(motion)
    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(9, 8), layout='constrained')
    for axis, values, limits, label in (
        (axes[0], states.positions, (model.lower, model.upper), 'position [m, rad]'),
        (axes[1], states.velocities, (-model.velocity_limit, model.velocity_limit),
         'velocity [m/s, rad/s]'),
        (axes[2], forces, (-model.force_limit, model.force_limit), 'force [N, N m]'),
    ):  # fmt: skip
        lines = axis.plot(time, values)
        for limit in np.unique(np.concatenate(limits)):
            if np.isfinite(limit):
                axis.axhline(limit, color='0.6', linestyle=':')
        axis.set_ylabel(label)
    axes[0].legend(lines, model.actuated_joints, ncols=3, fontsize='small')
    axes[0].set_title(f'{model.description.name}: one run, limits dotted')
    axes[2].set_xlabel('time [s]')
    figure.savefig(path)
    pyplot.close(figure)
