"""Designs that a joint servo can follow without a model to feed forward."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_bringup.offline import simulate
from pkm_description.errors import (
    FeasibilityError,
    KinematicsError,
    SimulationError,
    TrajectoryError,
)
from pkm_dynamics.joint_servo.expected_tracking import ErrorResponse, expected_tracking, under_servo
from pkm_dynamics.joint_servo.gains import largest_errors, servo_gains
from pkm_dynamics.limits.feasibility import check_feasibility
from pkm_dynamics.simulation import PlantEffects
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification.excitation import DesignLimits, design_excitation

QUICK = {'starts': 1, 'iterations': 25, 'workers': 1, 'seed': 1}
WEAK = 4.0  # [Hz]


def designed(model, **limits):
    return design_excitation(model, limits=DesignLimits(**limits), **QUICK)


def followed(model, design, bandwidth):
    """The simulated robot, with the noise that its description has, on the design."""
    effects = PlantEffects.from_description(model.description)
    gains = servo_gains(model, bandwidth)
    return simulate(
        model, design.trajectory, 2, ramp_time=design.ramp_time, gains=gains, effects=effects
    )


def test_the_servo_follows_what_was_designed_for_it_and_not_what_was_not():
    model, bandwidth = model_of('five_bar'), WEAK
    design = designed(model, bandwidth=bandwidth)
    allowed = largest_errors(model)
    margin = design.margins['tracking']
    assert 0.0 < margin['value'] <= 0.8 * allowed.max() * (1.0 + 1e-9)
    assert design.trajectory.highest_frequency <= bandwidth * (1.0 + 1e-9)
    run = followed(model, design, bandwidth)
    errors = np.abs(run.errors[run.running]).max(axis=0)
    assert (errors < allowed).all()
    assert errors.max() == pytest.approx(margin['value'], rel=0.35)  # of noise, and inertia
    assert not run.saturated.any()
    with pytest.raises(SimulationError):
        followed(model, designed(model, bandwidth=np.inf), bandwidth)


def test_a_tighter_bound_of_the_errors_makes_a_gentler_motion():
    model = model_of('five_bar')
    usual, tight = designed(model), designed(model, max_error=0.01)
    response = ErrorResponse(model, servo_gains(model))
    errors = expected_tracking(model, response, tight.trajectory).largest
    assert errors.max() <= 0.8 * 0.01 * (1.0 + 1e-6)
    assert tight.figures['d_optimal'] > usual.figures['d_optimal']


def test_a_servo_that_does_not_bear_the_weight_is_named_with_one_that_does():
    model = model_of('palida')
    with pytest.raises(FeasibilityError, match='rest at home .* tracking of') as caught:
        designed(model, bandwidth=0.5)
    needed = float(str(caught.value).split('a servo of ')[1].split(' Hz')[0])
    rest = np.zeros((1, model.n_a))
    home = model.motion_from_actuators(np.asarray(model.home_actuators)[None], rest, rest)
    weight = np.abs(model.inverse_dynamics(home)[0])
    for bandwidth, bears in ((needed, True), (0.9 * needed, False)):
        sag = weight / servo_gains(model, bandwidth).proportional
        assert (sag <= 0.8 * largest_errors(model)).all() == bears


def loops_close(model, q):
    """Whether the robot can be led there from home."""
    rest = np.zeros((1, model.n_a))
    try:
        model.motion_from_actuators(q[None], rest, rest)
    except KinematicsError:
        return False
    return True


def test_errors_twice_as_large_as_expected_must_not_end_in_a_singularity():
    """Struts of PaLiDA that are 3 cm too long or short, in turns, let the platform turn over."""
    model = model_of('palida')
    home = np.asarray(model.home_actuators)
    signs = np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0])
    near, far = 0.0, 0.05
    while far - near > 1e-5:
        middle = 0.5 * (near + far)
        near, far = (middle, far) if loops_close(model, home - middle * signs) else (near, middle)
    still = FourierTrajectory(
        *(1.0, home, np.full((6, 1), 1e-6), np.zeros((6, 1))), 'actuators', model.actuated_joints
    )
    gains = servo_gains(model)
    response, allowed = ErrorResponse(model, gains), largest_errors(model)
    report = check_feasibility(model, still)

    for share, singular in ((0.45, False), (0.55, True)):

        def short_of(model, motion, share=share):
            """A feedforward that leaves the servo to give what this error makes of it."""
            missing = gains.proportional * share * near * signs
            return model.inverse_dynamics(motion) - missing

        found = under_servo(report, model, still, response, allowed, short_of)
        assert found.margins['tracking'].value == pytest.approx(share * near, rel=1e-3)
        assert found.feasible != singular
        if singular:
            assert found.violations[0].constraint == 'conditioning'
            assert 'twice its expected errors' in found.message


@pytest.mark.parametrize('name', ['bandwidth', 'damping', 'gain_scale', 'max_error'])
@pytest.mark.parametrize('value', [0.0, -1.0, np.nan, 'a', True])
def test_options_that_make_no_sense(name, value):
    with pytest.raises(TrajectoryError, match=name):
        DesignLimits(**{name: value})


@pytest.mark.parametrize('value', [1.0, -0.1, np.nan])
def test_margins_that_make_no_sense(value):
    with pytest.raises(TrajectoryError, match='error_margin'):
        DesignLimits(error_margin=value)
