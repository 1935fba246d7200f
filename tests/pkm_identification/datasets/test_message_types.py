"""Where the definitions of messages come from: the bag, given texts, installed packages."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from pkm_description.errors import DatasetError
from pkm_identification.datasets.bags.bag_reader import _types
from pkm_identification.datasets.bags.message_types import (
    complete_typestore,
    installed_definition,
    jazzy_typestore,
)

LINE = '=' * 80 + '\n'
IDL = """IDL: own/msg/Pair
module own { module msg {
  struct Pair {
    own::msg::Item first; int32 second;
  };
}; };
"""
ITEM = """IDL: own/msg/Item
module own { module msg {
  struct Item { double value; };
}; };
"""


def connection(kind, form, text):
    return SimpleNamespace(msgtype=kind, msgdef=MessageDefinition(form, text))


def fields(store, kind):
    return [name for name, _ in store.fielddefs[kind][1]]


@pytest.mark.parametrize('text', [IDL + LINE + ITEM, LINE + IDL + LINE + ITEM])
def test_definitions_of_a_bag_in_idl(text):
    store = _types([connection('own/msg/Pair', MessageDefinitionFormat.IDL, text)])
    assert fields(store, 'own/msg/Pair') == ['first', 'second']
    pair = store.types['own/msg/Pair'](store.types['own/msg/Item'](2.5), 7)
    data = store.serialize_cdr(pair, 'own/msg/Pair')
    assert store.deserialize_cdr(data, 'own/msg/Pair') == pair


def test_definitions_of_a_bag_count_before_the_common_ones():
    """Those of ROS are there where the bag leaves some to the reader."""
    text = 'float64 mine\n'
    own = connection('std_msgs/msg/Bool', MessageDefinitionFormat.MSG, text)
    store = _types([own])
    assert fields(store, 'std_msgs/msg/Bool') == ['mine']
    assert 'sensor_msgs/msg/JointState' not in store.fielddefs
    nothing = connection('std_msgs/msg/Int8', MessageDefinitionFormat.NONE, '')
    for each in ([own, nothing], [nothing, own]):
        store = _types(each)
        assert fields(store, 'std_msgs/msg/Bool') == ['mine']
        assert fields(store, 'std_msgs/msg/Int8') == ['data']
        assert 'sensor_msgs/msg/JointState' in store.fielddefs


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Two prefixes, of which the second has a package; an empty entry between."""
    folder = tmp_path / 'two' / 'share' / 'own' / 'msg'
    folder.mkdir(parents=True)
    (folder / 'Pair.msg').write_text('own/Item[] items\nfloat64 second\n')
    (folder / 'Item.msg').write_text('std_msgs/Header header\nfloat64[3] value\n')
    monkeypatch.chdir(tmp_path / 'two')  # an empty entry is not the current folder
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path / "one"}::{tmp_path / "two"}')
    return folder


def test_installed_definitions(installed, monkeypatch):
    assert installed_definition('own/msg/Pair') == 'own/Item[] items\nfloat64 second\n'
    assert installed_definition('own/msg/Other') is None
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    assert installed_definition('own/msg/Pair') is None


def test_all_that_a_type_is_made_of_is_registered(installed):
    store = jazzy_typestore()
    complete_typestore('own/msg/Pair', {}, store)
    item = store.types['own/msg/Item'](
        store.types['std_msgs/msg/Header'](store.types['builtin_interfaces/msg/Time'](1, 2), 'x'),
        np.array([1.0, 2.0, 3.0]),
    )
    pair = store.types['own/msg/Pair']([item], 4.0)
    data = store.serialize_cdr(pair, 'own/msg/Pair')
    assert store.deserialize_cdr(data, 'own/msg/Pair').items[0].value[2] == 3.0


def test_given_texts_count_before_installed_ones(installed):
    store = jazzy_typestore()
    complete_typestore('own/msg/Item', {'own/msg/Item': 'int8 other\n'}, store)
    assert fields(store, 'own/msg/Item') == ['other']
    complete_typestore('own/msg/Item', {}, store)  # as it is known
    assert fields(store, 'own/msg/Item') == ['other']


def test_definitions_that_lack_or_are_none(installed):
    (installed / 'Item.msg').unlink()
    with pytest.raises(DatasetError, match="no definition of message type 'own/msg/Item' found"):
        complete_typestore('own/msg/Pair', {}, jazzy_typestore())
    with pytest.raises(DatasetError, match="definition of 'own/msg/X' cannot be parsed"):
        complete_typestore('own/msg/X', {'own/msg/X': '1 ? !'}, jazzy_typestore())
