"""What may be wrong with the measured forces: the force constant of one drive, a delay of all.

Both are factors of the forces that the model predicts and of their derivative: with the force
constant of drive i another by a share a, its forces are (1 + a) Psi_i p, and with forces that are
late by -d they are Psi p + d Psi' p. So they are candidates beside terms of the drives that look
alike: one drive that measures too much looks like an offset where its load is even, and late forces
look like friction.
"""

from __future__ import annotations

import numpy as np

from pkm_identification.arrays import Array
from pkm_identification.model_selection.candidate_terms import Candidate, Columns, TimeRows
from pkm_identification.model_selection.term_equations import Equations
from pkm_identification.regression.problem import Problem
from pkm_identification.result.drive_terms import Term
from pkm_identification.signals.bands import FilterBand


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
    predicted = rows.regressor @ Equations.of(rows, none, []).free_values
    values = np.stack([predicted, _derivative(problem, rows, predicted)], axis=2)
    parameters = np.full((problem.axes, 2), -1, dtype=np.int64)
    for number, axis in enumerate(axes):
        parameters[axis] = number, len(axes)
    return [*own, late], Columns(values, parameters, np.arange(len(axes) + 1))


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
