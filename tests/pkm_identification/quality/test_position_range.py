"""What is said of positions in which no closed robot can be."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_description.errors import KinematicsError
from pkm_identification import identify
from pkm_identification.datasets import Recording
from pkm_identification.excitation import load_excitation


def changed(change):
    """A motion of the hexapod that does not repeat, its positions changed."""
    model, trajectory = model_of('palida'), load_excitation('palida')
    motion = trajectory.motion(np.arange(0, 0.9 * trajectory.period, 2e-3), model)
    positions = np.array(model.actuator_states(motion).positions)
    forces = model.inverse_dynamics(motion)
    time = 2e-3 * np.arange(len(positions))
    data = Recording.from_arrays(time, model.actuated_joints, change(positions), forces)
    return model, data


def dead(positions):
    positions[:, 2] = positions[0, 2] + 1e-6 * np.random.default_rng(0).normal(size=len(positions))
    return positions


@pytest.mark.parametrize(
    ('change', 'said'),
    [
        (
            lambda q: 1e3 * q,
            'positions of leg._strut go from .* its stroke from 0.6 to 1.02: .*unit',
        ),
        (np.degrees, 'another unit, zero or order of the joints'),
        (lambda q: q + 2.0, 'another unit, zero or order of the joints'),
        (dead, 'positions of leg3_strut hardly change while others do: a dead sensor'),
        (lambda q: q[:, [3, 1, 2, 0, 4, 5]], 'are the joints in the right order'),
    ],
)
def test_the_joint_and_the_probable_cause_are_named(change, said):
    model, data = changed(change)
    with pytest.raises(KinematicsError, match=said):
        identify(data, model, method='filter', cutoff=20.0)
