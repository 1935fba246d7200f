"""Terms whose value rests on a part of the data are none of the drive."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from slides import slides, three_sines

from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Recording
from pkm_identification.model_selection.candidate_terms import time_rows
from pkm_identification.model_selection.term_selection import select_terms
from pkm_identification.model_selection.term_steadiness import (
    chance_of_value,
    is_everywhere,
    recordings_of,
)
from pkm_identification.regression.problem import build_problem
from pkm_identification.result.drive_terms import Term
from pkm_identification.signals import SignalOptions, process

RATE, DURATION, NOISE = 250.0, 12.0, 0.3  # [Hz, s, N]
OFFSET = 4.0  # [N] of the drive `along`


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(slides())


def problem_of(model, offsets):
    """Recordings of other motions, each with its own offset [N]."""
    found = []
    for seed, offset in enumerate(offsets):
        time = np.arange(round(DURATION * RATE)) / RATE
        motion = three_sines(model, time, seed, period=5.3)
        states = model.actuator_states(motion)
        forces = model.inverse_dynamics(motion)
        forces += NOISE * np.random.default_rng(seed).normal(size=forces.shape)
        forces[:, list(model.actuated_joints).index('along')] += offset
        data = Recording.from_arrays(time, model.actuated_joints, states.positions, forces)
        options = SignalOptions(method='filter', cutoff=15.0)
        found.append(process(data.for_model(model), options))
    return build_problem(found, model)


@pytest.mark.parametrize(('offsets', 'is_taken'), [((1.0, 1.0), True), ((1.0, 0.0), False)])
def test_a_property_of_a_drive_is_there_in_each_recording(model, offsets, is_taken):
    """Half of the offset everywhere makes the squared residuals smaller, as it does by parts."""
    problem = problem_of(model, OFFSET * np.array(offsets))
    taken = [(each.term, each.joints) for each in select_terms(problem, laws=False).taken]
    assert ((Term.OFFSET, ('along',)) in taken) == is_taken


def equations_of(columns, forces):
    """Normal equations of parts with one parameter of the model, the second that of a term."""
    square = np.einsum('kmi,kmj->kij', columns, columns)
    return square, np.einsum('kmi,km->ki', columns, forces), 1


def test_the_chance_is_that_of_the_values_of_equal_parts():
    """Where parts tell a value alike the jackknife is Student's test of their own values."""
    rng = np.random.default_rng(5)
    values = 0.5 + rng.normal(size=8)
    columns = np.tile(np.array([[1.0, 0.0], [0.0, 1.0]]), (8, 1, 1))
    forces = np.stack([np.full(8, 3.0), values], axis=1)
    expected = ttest_1samp(values, 0.0).pvalue
    assert chance_of_value(*equations_of(columns, forces)) == pytest.approx(expected, rel=1e-6)


def test_a_value_that_one_part_tells_is_not_sure():
    """A single part has the term; by all rows together it stands out by a hundred deviations."""
    rng = np.random.default_rng(6)
    columns = rng.normal(size=(10, 50, 2)) * [1.0, 0.01]
    columns[3, :, 1] *= 1000.0
    forces = 0.01 * rng.normal(size=(10, 50)) + columns[..., 0]
    forces[3] += 0.1 * columns[3, :, 1]
    assert chance_of_value(*equations_of(columns, forces)) > 0.05
    columns[..., 1] = columns[3, :, 1]
    everywhere = columns[..., 0] + 0.1 * columns[..., 1]
    assert chance_of_value(*equations_of(columns, everywhere)) < 1e-6


def test_few_parts_say_nothing():
    rng = np.random.default_rng(7)
    columns = rng.normal(size=(2, 20, 2))
    assert chance_of_value(*equations_of(columns, columns[..., 1])) == 0.0


def test_a_recording_that_hardly_tells_the_value_has_no_say():
    """Its drive may stand still there."""
    columns = np.ones((4, 10, 2))
    columns[..., 0] = np.linspace(-1.0, 1.0, 10)
    forces = columns[..., 1] * np.array([1.0, 1.0, 0.0, 0.0])[:, None]
    groups = np.array([0, 0, 1, 1])
    assert not is_everywhere(*equations_of(columns, forces), groups)
    columns[2:, :, 1] *= 0.1
    assert is_everywhere(*equations_of(columns, forces), groups)


def test_a_single_recording_counts_by_its_halves(model):
    one, two = (time_rows(problem_of(model, offsets), 10) for offsets in ((0.0,), (0.0, 0.0)))
    assert recordings_of(one).tolist() == [0] * 5 + [1] * 5
    assert recordings_of(two).tolist() == [0] * 5 + [1] * 5
    assert two.runs[two.parts == 4].max() == 0 and two.runs[two.parts == 5].min() == 1
