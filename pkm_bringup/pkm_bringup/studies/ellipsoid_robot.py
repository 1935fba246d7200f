"""Set membership on a robot under control, with bounds in per cent of its forces [P IV.B]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_bringup.offline import dataset_of, effects_of, measured_arrays, simulate
from pkm_bringup.studies.seeds import Update
from pkm_control.feedforward import nominal_feedforward
from pkm_description.errors import EstimationError
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.datasets import Recording
from pkm_identification.estimators.set_membership.parameter_ellipsoid import ellipsoid
from pkm_identification.excitation.shipped import load_excitation
from pkm_identification.regression.problem import Problem, build_problem
from pkm_identification.result.guaranteed_set import GuaranteedSet
from pkm_identification.signals import SignalOptions, process
from pkm_identification.signals.bands import FilterBand

Array = NDArray[np.float64]

HELD_OUT = ('circle', 'point_to_point', 'sine_all')  # the first that the robot has


def held_out(model: Any) -> Trajectory:
    """Return the motion that is predicted: of the presets of the robot."""
    names = [name for name in HELD_OUT if name in preset_names(model)]
    if not names:
        raise EstimationError(
            f"robot '{model.description.name}' has none of the presets {', '.join(HELD_OUT)}"
        )
    return preset(model, names[0])


def controlled_robot(
    model: Any,
    bounds: Sequence[float] = (5.0, 15.0),
    periods: int = 20,
    effects: PlantEffects | None = None,
    seed: int = 0,
    update: Update = lambda text, fraction: None,
    other: Trajectory | None = None,
) -> dict[str, Any]:
    """Identify the robot under control with bounds in per cent of its largest forces [P IV].

    Velocities and accelerations by the zero-phase filter, forces filtered alike and bounded
    after it, as there; no average over periods.

    Returns
    -------
    dict
        One case a bound: outliers, det M^-1, centre and intervals of the set, and what
        of another run lies in the predicted bounds: noise-free forces in those of the set,
        filtered measured forces in those and the bound of the errors.
    """
    effects = effects_of(model.description, 'all') if effects is None else effects
    excitation = load_excitation(model.description.name)
    problem, _ = _run(model, excitation, periods, effects, seed, update)
    other = held_out(model) if other is None else other
    again = periods if other.period is not None else 1
    test, noise_free = _run(model, other, again, effects, seed + 1, update)
    rows = test.runs[0].rows
    cases = []
    for bound in bounds:
        update(f'bound {bound:g} %', None)
        found = ellipsoid(problem, bound, 'limit', bound_at='rows')
        assert found.guaranteed_root is not None
        guaranteed = GuaranteedSet(
            problem.expand(found.values), found.guaranteed_root, problem.free
        )
        half = guaranteed.force_half_widths(rows.regressor)
        forces = rows.regressor @ guaranteed.centre
        width = 0.01 * bound * np.asarray(model.force_limit)
        diagnostics = found.diagnostics
        cases.append(
            {
                'bound': bound,
                'strips': diagnostics['strips'],
                'outliers': diagnostics['outliers'],
                'outlier_share': diagnostics['outlier_share'],
                'determinant': float(np.exp(guaranteed.log_determinant)),
                'passes': diagnostics['passes'],
                'centre': guaranteed.centre.tolist(),
                'half_widths': guaranteed.half_widths.tolist(),
                'distance_of_truth': guaranteed.distance(problem.all_nominal),
                'noise_free_inside': float(np.mean(np.abs(noise_free - forces) <= half)),
                'measured_inside': float(np.mean(np.abs(rows.forces - forces) <= half + width)),
                'force_half_range': (np.median(half, axis=0)).tolist(),
            }
        )
    return {
        'robot': model.description.name,
        'periods': periods,
        'seed': seed,
        'parameters': list(problem.base.names),
        'units': list(problem.base.units),
        'truth': problem.all_nominal.tolist(),
        'cases': cases,
    }


def _run(
    model: Any,
    trajectory: Trajectory,
    periods: int,
    effects: PlantEffects,
    seed: int,
    update: Update,
) -> tuple[Problem, Array]:
    """Rows of a simulated run, and its noise-free forces (m, n_a) filtered alike."""
    recording = simulate(
        model,
        trajectory,
        periods,
        effects=effects,
        feedforward=nominal_feedforward(model),
        seed=seed,
        progress=update,
    )
    arrays = measured_arrays(recording, model, None)
    dataset = dataset_of(arrays).for_model(model)
    options = SignalOptions(method='filter')
    signals = process(dataset, options)
    assert isinstance(signals.band, FilterBand)
    chosen = SignalOptions(method='filter', cutoff=signals.band.cutoff)
    clean = Recording.from_arrays(
        dataset.time,
        dataset.joint_names,
        dataset.positions,
        arrays['truth_forces'],
        effort_delay=dataset.effort_delay,
    )
    noise_free = build_problem(process(clean.for_model(model), chosen), model)
    return build_problem(signals, model), noise_free.forces
