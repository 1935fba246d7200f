"""Measured currents or forces of a bag, from whichever messages hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.bags.bag_reader import RawBag
from pkm_identification.datasets.bags.measured_stream import Stream, read_stream, require_topic
from pkm_identification.datasets.force_messages import (
    ARRAY,
    CURRENTS,
    FIELDS,
    MOTOR_CURRENTS,
    POSITIONS,
    ForceMessages,
)


def force_stream(
    bag: RawBag,
    found: Mapping[str, str | None],
    positions: Stream,
    joints: Sequence[str],
    told: ForceMessages | None,
) -> Stream:
    """Currents or efforts, from where the recording says, else from the topic that is there."""
    beside = found[CURRENTS] is None if told is None else told.topic == POSITIONS
    if beside and 'effort' in positions.columns:
        values, names = positions.columns['effort'], positions.names
        stream = replace(positions, defects=())  # they are counted with the positions
    else:
        topic = require_topic(bag, found[CURRENTS], CURRENTS)
        stream = read_stream(bag, topic, joints)
        kind = bag.topics[topic].message_type
        field = FIELDS.get(kind, '')
        if field not in stream.columns:
            raise DatasetError(f"'{bag.path}': messages on '{topic}' hold no {field or 'currents'}")
        values, names = stream.columns[field], stream.names
        if kind == ARRAY:
            names = _names_of_array(bag, topic, values, told)
        if told is None and kind == MOTOR_CURRENTS:
            return stream
    column = 'current' if told is not None and told.are_currents else 'effort'
    return Stream(stream.stamps, names, {column: values}, stream.defects)


def _names_of_array(
    bag: RawBag, topic: str, values: Array, told: ForceMessages | None
) -> list[str]:
    if told is None:
        raise DatasetError(
            f"'{bag.path}': the numbers on '{topic}' ({ARRAY}) have neither names nor unit, and "
            'the recording says none (forces in its pkm/metadata): record them with the excitation '
            'server, or take them over into a .csv or .npz file'
        )
    if values.ndim != 2 or values.shape[1] != len(told.names):
        width = values.shape[1] if values.ndim == 2 else 1
        raise DatasetError(
            f"'{bag.path}': {width} numbers on '{topic}' for {len(told.names)} joints"
        )
    return list(told.names)
