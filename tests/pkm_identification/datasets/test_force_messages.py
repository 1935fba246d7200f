"""Which messages hold currents or forces, and bags of each kind."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from pkm_description.errors import DatasetError
from pkm_identification.datasets import BagWriter, load
from pkm_identification.datasets.bags.message_types import complete_typestore, jazzy_typestore
from pkm_identification.datasets.force_messages import (
    ARRAY,
    JOINT_STATE,
    MOTOR_CURRENTS,
    ForceMessages,
    chosen_messages,
    recorded_force_messages,
    require_force_unit,
)

NAMES = ('left', 'right')
BESIDE = ForceMessages('joint_states', JOINT_STATE, 'N', NAMES)
ON_ITS_OWN = 'motor_currents'
CONSTANTS = np.array([20.0, 25.0])  # of the sliders [N/A]


@pytest.mark.parametrize(
    ('types', 'has_efforts', 'unit', 'found'),
    [
        ([MOTOR_CURRENTS] * 2, True, 'auto', (ON_ITS_OWN, MOTOR_CURRENTS, 'A')),
        ([JOINT_STATE], True, 'newton', (ON_ITS_OWN, JOINT_STATE, 'N')),
        ([ARRAY], False, 'ampere', (ON_ITS_OWN, ARRAY, 'A')),
        ([], True, 'auto', ('joint_states', JOINT_STATE, 'N')),
        ([], True, 'ampere', ('joint_states', JOINT_STATE, 'A')),
        ([], False, 'auto', None),
    ],
)
def test_the_messages_are_those_of_the_graph(types, has_efforts, unit, found):
    expected = None if found is None else ForceMessages(*found, NAMES)
    assert chosen_messages(types, has_efforts, unit, NAMES) == expected


@pytest.mark.parametrize(
    ('types', 'unit', 'message'),
    [
        ([MOTOR_CURRENTS, ARRAY], 'ampere', 'pkm_msgs/msg/MotorCurrents and as std_msgs'),
        (['std_msgs/msg/String'], 'ampere', 'published as std_msgs/msg/String; known are pkm_msgs'),
        ([JOINT_STATE], 'auto', "which may hold currents or forces: say force_unit 'amp"),
        ([ARRAY], 'auto', 'Float64MultiArray, which may hold'),
        ([MOTOR_CURRENTS], 'newton', r'holds currents \[A\]'),
    ],
)
def test_what_cannot_be_told_is_refused(types, unit, message):
    with pytest.raises(DatasetError, match=message):
        chosen_messages(types, True, unit, NAMES)


def test_units_are_checked():
    assert require_force_unit('newton') == 'newton'
    with pytest.raises(DatasetError, match="force_unit 'mA' is unknown; valid are auto, ampere"):
        require_force_unit('mA')


def test_a_recording_says_which_messages_it_has():
    told = chosen_messages([ARRAY], False, 'ampere', NAMES)
    assert recorded_force_messages({'forces': told.to_mapping()}, 'bag') == told
    assert recorded_force_messages({'forces': BESIDE.to_mapping()}, 'bag') == BESIDE
    assert recorded_force_messages({'forces': None}, 'bag') is None
    for wrong, message in (
        ('A', 'must be a mapping'),
        ({**told.to_mapping(), 'unit': 'mA'}, "unit is 'mA'; valid are A, N"),
        ({**told.to_mapping(), 'topic': 'x'}, "topic is 'x'; valid are joint_states, motor"),
        ({**told.to_mapping(), 'type': ['x']}, 'type is'),
        ({**told.to_mapping(), 'names': 3}, 'names must be a list'),
        ({**told.to_mapping(), 'names': []}, 'names must be a list'),
    ):
        with pytest.raises(DatasetError, match=message):
            recorded_force_messages({'forces': wrong}, 'bag')


@pytest.fixture
def write(definitions, tmp_path):
    """The function that writes a bag whose currents or forces are in messages of some kind."""
    store = jazzy_typestore()
    complete_typestore(MOTOR_CURRENTS, definitions, store)
    types = store.types
    time_of, header_of = types['builtin_interfaces/msg/Time'], types['std_msgs/msg/Header']
    layout = types['std_msgs/msg/MultiArrayLayout']([], 0)
    none = np.zeros(0)

    def write(data, messages, numbers, told=True, foreign=False):
        numbers, names = np.ascontiguousarray(numbers), list(data.joint_names)
        with BagWriter(tmp_path / 'bag', definitions=definitions) as writer:
            for k, t in enumerate(data.time):
                stamp = 10**9 + round(t * 1e9)
                header = header_of(time_of(stamp // 10**9, stamp % 10**9), '')
                beside = numbers[k] if messages.topic == 'joint_states' else none
                sent = [
                    ('joint_states', JOINT_STATE, header, names, data.positions[k], none, beside)
                ]
                if messages.message_type == ARRAY:
                    sent += [('motor_currents', ARRAY, layout, numbers[k])]
                elif messages.topic == 'motor_currents':
                    fields = (header, names, none, none, numbers[k])
                    if messages.message_type == MOTOR_CURRENTS:
                        fields = (header, names, numbers[k])
                    sent += [('motor_currents', messages.message_type, *fields)]
                for topic, kind, *fields in sent:
                    text = bytes(store.serialize_cdr(types[kind](*fields), kind))
                    writer.write(f'/ns/{topic}', kind, text, stamp)
            metadata = {'forces': messages.to_mapping() if told else None}
            writer.write_text('/ns/pkm/metadata', yaml.safe_dump(metadata), 10**9)
        return tmp_path / 'bag'

    return write


@pytest.mark.parametrize(
    ('topic', 'kind', 'unit'),
    [
        ('motor_currents', MOTOR_CURRENTS, 'A'),
        *(('motor_currents', JOINT_STATE, unit) for unit in 'AN'),
        *(('joint_states', JOINT_STATE, unit) for unit in 'AN'),
        *(('motor_currents', ARRAY, unit) for unit in 'AN'),
    ],
)
def test_bags_of_every_kind_need_no_options(record, slider_model, write, topic, kind, unit):
    """Both units give the forces [N] that were recorded, in the robot's order."""
    data = record(periods=1)
    numbers = data.efforts / CONSTANTS if unit == 'A' else data.efforts
    loaded = load(write(data, ForceMessages(topic, kind, unit, NAMES), numbers))
    assert loaded.has_currents == (unit == 'A')
    found = loaded.for_model(slider_model)
    np.testing.assert_allclose(found.efforts, data.efforts, rtol=1e-12)
    np.testing.assert_array_equal(found.positions, data.positions)
    assert found.effort_delay == 0.0


@pytest.mark.parametrize('topic', ['joint_states', 'motor_currents'])
def test_a_gripper_and_a_rail_share_the_topic(record, slider_model, write, topic):
    """One with messages of its own, the other within those of the robot."""
    data = record(periods=1)
    messages = ForceMessages(topic, JOINT_STATE, 'N', NAMES)
    loaded = load(write(data, messages, data.efforts, foreign=True))
    found = loaded.for_model(slider_model)
    np.testing.assert_array_equal(found.positions, data.positions)
    np.testing.assert_array_equal(found.efforts, data.efforts)


def test_arrays_follow_the_names_of_the_recording(record, slider_model, write):
    data = record(periods=1)
    messages = ForceMessages('motor_currents', ARRAY, 'N', NAMES[::-1])
    found = load(write(data, messages, data.efforts[:, ::-1])).for_model(slider_model)
    np.testing.assert_array_equal(found.efforts, data.efforts)


def test_arrays_without_names_are_refused(record, write):
    data = record(periods=1)
    messages = ForceMessages('motor_currents', ARRAY, 'N', NAMES)
    path = write(data, messages, data.efforts, told=False)
    with pytest.raises(DatasetError, match='have neither names nor unit'):
        load(path)


def test_arrays_of_another_length_are_refused(record, write):
    data = record(periods=1)
    messages = ForceMessages('motor_currents', ARRAY, 'N', NAMES)
    path = write(data, messages, np.hstack([data.efforts, data.efforts]))
    with pytest.raises(DatasetError, match="4 numbers on '/ns/motor_currents' for 2 joints"):
        load(path)


def test_foreign_efforts_on_a_topic_of_their_own(record, slider_model, write):
    """Without anything said they are forces, as in `effort_unit`."""
    data = record(periods=1)
    messages = ForceMessages('motor_currents', JOINT_STATE, 'N', NAMES)
    path = write(data, messages, data.efforts / CONSTANTS, told=False)
    assert not load(path).has_currents
    found = load(path, effort_unit='A').for_model(slider_model)
    np.testing.assert_allclose(found.efforts, data.efforts, rtol=1e-12)
