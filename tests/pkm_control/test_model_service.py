"""The feedforward that a request of the service asks for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from every_model import model_of
from gantry import Gantry
from slides import slides

pytest.importorskip('rclpy')

from pkm_control.nodes import model_service  # noqa: E402
from pkm_control.nodes.model_service import ModelRefused, requested_feedforward  # noqa: E402
from pkm_description import loads  # noqa: E402
from pkm_dynamics import ClosedChainModel  # noqa: E402
from pkm_msgs.msg import DynamicParameters  # noqa: E402
from pkm_msgs.srv import SetModel  # noqa: E402

MODEL = Gantry()
MODEL.description.digest = '0123456789abcdef'
VALUES = 1.1 * MODEL.nominal_parameters
CODES = SetModel.Response


@pytest.fixture(autouse=True)
def gantries_are_alike(monkeypatch) -> None:
    """The gantry draws no poses: it is no closed chain."""
    whole = model_service.model_difference

    def difference(model, *models):
        return SimpleNamespace(share=0.0) if model is MODEL else whole(model, *models)

    monkeypatch.setattr(model_service, 'model_difference', difference)


def request(source: str = 'identified', **changes) -> SetModel.Request:
    """Ask for an identified model of the gantry, with changes of its fields."""
    fields = {
        'robot': 'gantry',
        'description_digest': '0123456789abcdef',
        'estimator': 'wls',
        'standard_name': list(MODEL.parameter_names),
        'standard_value': VALUES.tolist(),
    }
    return SetModel.Request(source=source, parameters=DynamicParameters(**(fields | changes)))


def test_each_source_gives_its_feedforward() -> None:
    nothing = requested_feedforward(MODEL, request('none'))
    assert (nothing.name, nothing.parameters) == ('none', None)
    nominal = requested_feedforward(MODEL, request('nominal'))
    assert nominal.name == 'nominal'
    np.testing.assert_array_equal(nominal.parameters, MODEL.nominal_parameters)
    identified = requested_feedforward(MODEL, request())
    assert identified.name == 'wls'
    np.testing.assert_array_equal(identified.parameters, VALUES)
    assert requested_feedforward(MODEL, request(estimator='')).name == 'identified'


def test_only_an_identified_model_needs_its_parameters() -> None:
    for source in ('none', 'nominal'):
        found = requested_feedforward(MODEL, request(source, robot='other', standard_name=[]))
        assert found.name == source


@pytest.mark.parametrize('source', ['nominal', 'identified'])
@pytest.mark.parametrize('part', ['rigid_body', 'friction', 'rotor'])
def test_parts_are_left_out_as_asked(source: str, part: str) -> None:
    asked = request(source, estimator='')
    setattr(asked, part, False)
    found = requested_feedforward(MODEL, asked)
    assert found.name == f'{source} without {part.replace("_", " ")}'
    whole = VALUES if source == 'identified' else MODEL.nominal_parameters
    kept = np.where(MODEL.parameter_mask(part), 0.0, whole)
    np.testing.assert_array_equal(found.parameters, kept)


@pytest.mark.parametrize(
    ('changes', 'code', 'message'),
    [
        (
            {'source': 'mine'},
            CODES.UNKNOWN_SOURCE,
            "source 'mine' is unknown; valid are none, nominal, identified",
        ),
        ({'robot': 'other'}, CODES.WRONG_ROBOT, "the model is of robot 'other', this is 'gantry'"),
        (
            {'description_digest': 'fedcba9876543210'},
            CODES.WRONG_ROBOT,
            "the model was identified with another description of 'gantry' "
            '(digest fedcba987654, here 0123456789ab)',
        ),
        (
            {'description_digest': ''},
            CODES.WRONG_ROBOT,
            "the model was identified with another description of 'gantry' "
            '(digest missing, here 0123456789ab)',
        ),
        (
            {'standard_value': [*VALUES[:-1], np.nan]},
            CODES.WRONG_PARAMETERS,
            "parameter 'z.rotor' is not finite",
        ),
        (
            {'standard_value': [-1.0, *VALUES[1:]]},
            CODES.NOT_PHYSICAL,
            "parameter 'platform.m' is negative: -1",
        ),
    ],
)
def test_refusals_say_why_and_have_a_code(changes: dict, code: int, message: str) -> None:
    with pytest.raises(ModelRefused) as caught:
        requested_feedforward(MODEL, request(**changes))
    assert (caught.value.code, str(caught.value)) == (code, message)


def test_friction_that_the_robot_cannot_have_is_refused() -> None:
    plain = slides()
    text = f'{plain.yaml_text}friction: {{along: {{model: viscous, viscous: 2}}}}\n'
    model = ClosedChainModel(loads(plain.urdf, text))
    values = dict(zip(model.parameter_names, model.nominal_parameters.tolist(), strict=True))
    values['along.presliding'] = 0.01
    asked = request(
        robot=model.description.name,
        description_digest=model.description.digest,
        standard_name=list(values),
        standard_value=list(values.values()),
    )
    with pytest.raises(ModelRefused, match="'along' has presliding, but no Coulomb") as refusal:
        requested_feedforward(model, asked)
    assert refusal.value.code == CODES.WRONG_PARAMETERS


def test_a_model_far_from_the_description_is_refused() -> None:
    model = model_of('palida')
    heavy = np.array(model.nominal_parameters)
    heavy[model.parameter_mask('rigid_body')] *= 10.0
    fields = {
        'robot': 'palida',
        'description_digest': model.description.digest,
        'standard_name': list(model.parameter_names),
        'standard_value': heavy.tolist(),
    }
    asked = SetModel.Request(source='identified', parameters=DynamicParameters(**fields))
    with pytest.raises(ModelRefused, match=r'of the force limit apart') as caught:
        requested_feedforward(model, asked, 0.5)
    assert caught.value.code == CODES.TOO_DIFFERENT
    np.testing.assert_array_equal(requested_feedforward(model, asked, 3.0).parameters, heavy)
    asked.parameters.standard_value = (1.2 * np.array(model.nominal_parameters)).tolist()
    requested_feedforward(model, asked, 0.5)


def test_a_model_that_is_taken_is_bound_to_the_description() -> None:
    without_friction = request()
    without_friction.friction = False
    bound = requested_feedforward(MODEL, without_friction, 0.5).bound
    np.testing.assert_array_equal(bound.width, 0.5 * np.asarray(MODEL.force_limit))
    kept = np.where(MODEL.parameter_mask('friction'), 0.0, MODEL.nominal_parameters)
    np.testing.assert_array_equal(bound.parameters, kept)
    assert requested_feedforward(MODEL, request(), 2.0).bound is None
    assert requested_feedforward(MODEL, request('nominal'), 0.5).bound is None
