"""What may be wrong with a measurement: a force constant, a delay of all, the zero of an encoder.

All are factors of the forces that the model predicts or of their derivatives: with the force
constant of drive i another by a share a, its forces are (1 + a) Psi_i p, with forces that are
late by -d they are Psi p + d Psi' p, and with positions of drive i that read too much by z they are
Psi p - z dPsi/dq_i p. So they are candidates beside terms of the drives that look alike: one drive
that measures too much looks like an offset where its load is even, late forces look like friction,
and a zero looks like springs of all drives.
"""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array, Indices
from pkm_identification.model_selection.candidate_terms import Candidate, Columns, TimeRows, in_time
from pkm_identification.model_selection.term_equations import Equations
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import Term
from pkm_identification.signals import Signals
from pkm_identification.signals.bands import FilterBand

STEP = 1e-4  # of the motion: what a derivative is the difference over


def measurement_terms(problem: Problem, rows: TimeRows) -> tuple[list[Candidate], Columns]:
    """Return the candidates and their columns; none where values are fixed.

    What fixed parameters predict is not in the rows.
    """
    nothing = np.zeros((problem.axes, 0), dtype=np.int64)
    none = Columns(np.zeros((len(rows.forces), problem.axes, 0)), nothing, nothing[0])
    if len(problem.selection.fixed):
        return [], none
    model = problem.model
    joints, driven = list(model.actuated_joints), set(model.description.driven_joints)
    axes = [axis for axis, joint in enumerate(joints) if joint in driven]
    own = [Candidate(Term.GAIN, (axis,), (joints[axis],)) for axis in axes]
    late = Candidate(Term.DELAY, tuple(axes), tuple(joints[axis] for axis in axes))
    found = Equations.of(rows, none, []).free_values
    predicted = rows.regressor @ found
    zeros = [
        Candidate(Term.ZERO, (axis,), (joint,), model.description.joint(joint).type == 'prismatic')
        for axis, joint in enumerate(joints)
    ]
    of_force = np.stack([predicted, _derivative(problem, rows, predicted)], axis=2)
    values = np.concatenate([of_force, -_by_positions(problem, found)], axis=2)
    parameters = np.full((problem.axes, 2 + len(joints)), -1, dtype=np.int64)
    parameters[axes, 0] = np.arange(len(axes))
    parameters[axes, 1] = len(axes)
    parameters[:, 2:] = len(axes) + 1 + np.arange(len(joints))
    candidates = [*own, late, *zeros]
    return candidates, Columns(values, parameters, np.arange(len(candidates)))


def _by_positions(problem: Problem, values: Array) -> Array:
    """Derivatives (m, n_a, n_a) of the rows by the positions of the drives, with values (f,).

    Of the bodies alone: friction does not depend on positions. Rows of a filter are those of the
    motion itself: the derivatives are as smooth.
    """
    model, base = problem.model, problem.base
    bodies = base.columns @ np.where(base.is_rigid_body, problem.expand(values)[: base.rank], 0.0)

    def forces(signals: Signals, rows: slice | Indices, change: Array) -> Array:
        motion = model.motion_from_actuators(
            signals.positions[rows] + change, signals.velocities[rows], signals.accelerations[rows]
        )
        return model.inverse_dynamics(motion, bodies)

    def slopes(signals: Signals, rows: slice | Indices) -> Array:
        step = STEP * float(np.ptp(signals.positions, axis=0).max())
        moved = [forces(signals, rows, each) for each in step * np.eye(problem.axes)]
        still = forces(signals, rows, np.zeros(problem.axes))
        return (np.stack(moved, axis=2) - still[..., None]) / step

    found = []
    for run in problem.runs:
        signals, band = run.signals, run.signals.band
        if isinstance(band, FilterBand):
            found.append(slopes(signals, band.row_samples(len(signals))))
        else:
            ((rows, _),) = signals.row_blocks(slopes)
            found.append(in_time(rows, run.is_periodic))
    return np.concatenate(found)


def _derivative(problem: Problem, rows: TimeRows, values: Array) -> Array:
    """Derivative (m, n_a) of rows in time; zero where the next row is far away."""
    found = []
    for run, piece in zip(problem.runs, rows.pieces(values), strict=True):
        band = run.signals.band
        if len(piece) < 2:
            found.append(np.zeros_like(piece))
        elif isinstance(band, FilterBand):
            samples = band.row_samples(len(run.signals))
            step = np.diff(samples)
            is_whole = np.concatenate([[True], step == band.step]) & np.concatenate(
                [step == band.step, [True]]
            )
            slope = np.gradient(piece, samples / band.rate, axis=0)
            found.append(np.where(is_whole[:, None], slope, 0.0))
        else:
            wave = 2j * np.pi * np.arange(len(piece) // 2 + 1) / band.period
            spectrum = np.fft.rfft(piece, axis=0) * wave[:, None]
            found.append(np.fft.irfft(spectrum, len(piece), axis=0))
    return np.concatenate(found)
