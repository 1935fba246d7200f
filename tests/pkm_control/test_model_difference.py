"""How far models are apart: by their forces, within what the robot can do."""

from __future__ import annotations

import numpy as np
import pytest
from every_model import model_of

from pkm_control.feedforward import identified_feedforward, no_feedforward, nominal_feedforward
from pkm_control.model_difference import model_difference


def heavier(model, factor: float, friction: float = 1.0):
    values = np.array(model.nominal_parameters)
    values[model.parameter_mask('rigid_body')] *= factor
    values[model.parameter_mask('friction')] *= friction
    return identified_feedforward(model, 'identified', model.parameter_names, values)


@pytest.mark.parametrize('robot', ['palida', 'five_bar', 'rps_upv'])
def test_no_model_is_any_way_from_itself_and_ten_times_the_masses_are_far(robot: str) -> None:
    model = model_of(robot)
    nominal = nominal_feedforward(model)
    assert model_difference(model, nominal, nominal).share == 0.0
    near, far = (model_difference(model, heavier(model, f), nominal).share for f in (1.1, 10.0))
    assert far == pytest.approx(90.0 * near, rel=1e-6)  # forces are linear in the masses
    assert far > 0.2


def test_the_worst_joint_is_named_with_both_forces() -> None:
    model = model_of('palida')
    nominal = nominal_feedforward(model)
    values = np.array(model.nominal_parameters)
    joint = model.actuated_joints[2]
    values[model.parameter_names.index(f'{joint}.viscous')] += 1000.0
    other = identified_feedforward(model, 'identified', model.parameter_names, values)
    worst = model_difference(model, other, nominal)
    assert worst.joint == joint
    limit = model.force_limit[2]
    assert abs(worst.force - worst.expected) == pytest.approx(worst.share * limit)
    # at half the limit of its speed at most
    assert worst.share <= 1000.0 * 0.5 * model.velocity_limit[2] / limit * (1.0 + 1e-9)
    assert worst.share > 0.0
    assert model_difference(model, no_feedforward(), nominal).share > 0.0
