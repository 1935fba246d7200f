"""What is measured wrongly: one drive's force constant, a delay of all, the zero of an encoder."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.excitation import load_excitation
from pkm_identification.result.drive_terms import Term
from pkm_identification.result.verdict import verdict_of

RATE, PERIODS, NOISE = 500.0, 4, 0.01  # [Hz, 1, share of the forces]
# Two coupled drives; four with passive joints and friction of their own
ROBOTS = ('five_bar', 'h4')


def recorded(name, seed, periodic, lag=0.0, factors=1.0, zero=0.0):
    """Forces late by `lag` [s] and times `factors`, with noise.

    Positions of the second drive are too large by a share `zero` of its motion.
    """
    model, trajectory = model_of(name), load_excitation(name)
    period = round(trajectory.period * RATE) / RATE
    time = np.arange(round(PERIODS * period * RATE)) / RATE
    paced = time * (trajectory.period / period)  # whole samples a period
    positions = model.actuator_states(trajectory.motion(paced, model)).positions
    forces = factors * model.inverse_dynamics(trajectory.motion(paced - lag, model))
    noise = NOISE * forces.std(axis=0)
    forces = forces + noise * np.random.default_rng(seed).normal(size=forces.shape)
    positions[:, 1] += zero * np.ptp(positions[:, 1])
    options = {'period': period} if periodic else {}
    return model, Recording.from_arrays(time, model.actuated_joints, positions, forces, **options)


def terms(name, periodic, friction=None, seed=0, **wrong):
    model, data = recorded(name, seed, periodic, **wrong)
    options = {} if friction is None else {'friction': friction}
    result = identify(data, model, **options)
    return result, result.diagnostics.drive_terms


@pytest.mark.parametrize('periodic', [True, False])
@pytest.mark.parametrize('name', ROBOTS)
def test_the_force_constant_of_one_drive(name, periodic):
    factors = np.ones(model_of(name).n_a)
    factors[1] = 0.8
    result, found = terms(name, periodic, factors=factors)
    assert found.asked_for.term is Term.GAIN and found.asked_for.remedy == 'drive_gains=each'
    named = found.asked_for.joints[0] == result.joint_names[1]
    # of two drives either may be the wrong one
    assert named or len(factors) == 2
    assert found.asked_for.value == pytest.approx(0.8 if named else 1.25, rel=0.03)
    assert 'force constant or unit' in verdict_of(result).line()


@pytest.mark.parametrize('periodic', [True, False])
@pytest.mark.parametrize(
    ('lag', 'words'),
    [(2e-3, 'forces lag behind positions by'), (-2e-3, 'positions lag behind forces by')],
)
@pytest.mark.parametrize('name', ROBOTS)
def test_forces_that_are_late_or_early(name, lag, words, periodic):
    result, found = terms(name, periodic, lag=lag)
    assert found.asked_for.term is Term.DELAY and found.asked_for.remedy == 'delay=estimate'
    assert found.asked_for.value == pytest.approx(-lag, rel=0.25)  # friction is no straight line
    assert f'{words} about' in verdict_of(result).line()


@pytest.mark.parametrize('periodic', [True, False])
@pytest.mark.parametrize('zero', [0.03, -0.03])
@pytest.mark.parametrize('name', ROBOTS)
def test_the_zero_of_an_encoder(name, zero, periodic):
    result, found = terms(name, periodic, zero=zero)
    assert found.asked_for.term is Term.ZERO and found.asked_for.remedy == ''
    assert found.asked_for.joints == (result.joint_names[1],)
    motion = np.ptp(recorded(name, 0, periodic)[1].positions[:, 1])
    # other noise changes it by 3 %: five deviations
    assert found.asked_for.value == pytest.approx(zero * motion, rel=0.15)
    words = f'{abs(found.asked_for.value):.2g} rad too {"large" if zero > 0 else "small"}'
    assert f'{words}: zero of the encoder, or geometry' in verdict_of(result).line()


def test_a_base_joint_elsewhere_than_described():
    model, data = recorded('h4', 0, True)
    right = model.description
    assert right.urdf.count('xyz="-0.2 0.06 0"') == 1
    moved = right.urdf.replace('xyz="-0.2 0.06 0"', 'xyz="-0.208 0.06 0"')
    wrong = ClosedChainModel(pkm_description.loads(moved, right.yaml_text))
    found = identify(data, wrong).diagnostics.drive_terms.asked_for
    assert found.term is Term.ZERO and 'geometry' in found.sentence()


@pytest.mark.parametrize('name', ROBOTS)
def test_friction_auto_takes_no_other_term_for_them(name):
    factors = np.ones(model_of(name).n_a)
    factors[1] = 0.8
    _, found = terms(name, True, 'auto', factors=factors)
    assert not any(each.is_taken for each in found.tried_terms)
    assert found.tried_terms[0].is_found and found.unmet.term is Term.GAIN


@pytest.mark.parametrize('periodic', [True, False])
@pytest.mark.parametrize('name', ROBOTS)
def test_right_forces(name, periodic):
    for seed in range(3):
        _, found = terms(name, periodic, seed=seed)
        assert found.asked_for is None


def test_with_fixed_values_they_are_not_tried():
    """What these predict is no part of the rows."""
    model, data = recorded('five_bar', 0, True, lag=2e-3)
    fixed = {'left_motor.viscous': 0.0}
    found = identify(data, model, fixed=fixed).diagnostics.drive_terms
    assert found.asked_for is None or not found.asked_for.term.is_of_measurement


def test_forces_that_are_none_of_their_drive():
    """Neither a force constant nor friction makes half of another drive's forces of them."""
    model, data = recorded('h4', 0, True)
    forces = np.array(data.efforts)
    forces[:, 1] = -0.7 * forces[:, 1]
    wrong = Recording.from_arrays(
        data.time, data.joint_names, data.positions, forces, period=data.period
    )
    found = identify(wrong, model).diagnostics.drive_terms.asked_for
    assert found.joints == (data.joint_names[1],) and found.remedy == ''
    assert 'forces are not what the other drives tell' in found.sentence()
