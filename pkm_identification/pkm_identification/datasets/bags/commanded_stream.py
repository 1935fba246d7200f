"""Forces that the controller commanded, from its state in a bag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pkm_description.description import JOINT
from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.bags.bag_reader import RawBag
from pkm_identification.datasets.bags.measured_stream import Stream, read_stream
from pkm_identification.datasets.bags.pairing import Stamps
from pkm_identification.datasets.recorded_metadata import recorded_side
from pkm_identification.datasets.stored_array import in_parts, stored

HELD = 100_000_000  # [ns] that drives hold a command at most: a usual timeout of theirs


def commanded_stream(
    bag: RawBag, topic: str | None, positions: Stream, metadata: Mapping[str, Any]
) -> tuple[Stream, Stream]:
    """Return the positions from the first command on, and the command that is held at each."""
    if topic is None:
        raise DatasetError(
            f"'{bag.path}' has no messages in which the controller says what it commanded "
            '(trajectory_controller/state): take the measured forces'
        )
    if recorded_side(metadata, str(bag.path)) != JOINT:
        raise DatasetError(
            f"'{bag.path}' has positions of motors, but commands of joints: take the measured "
            'forces'
        )
    told = read_stream(bag, topic)
    if 'command' not in told.columns:
        raise DatasetError(
            f"'{bag.path}': the controller commanded no forces (valves?): take the measured forces"
        )
    ours = np.asarray(positions.stamps >= told.stamps[0]) if len(told.stamps) else np.zeros(0, bool)
    if not ours.any():
        raise DatasetError(f"'{bag.path}': nothing on '{topic}' is a command for a position")
    positions = positions.rows(ours)

    def held(stamps: Stamps) -> Array:
        rows = np.searchsorted(told.stamps, stamps, side='right') - 1
        commands = np.array(told.columns['command'][rows], dtype=float)
        commands[stamps - told.stamps[rows] > HELD] = np.nan
        return commands

    commands = stored(held(part) for part in in_parts(positions.stamps))
    return positions.without('effort'), Stream(positions.stamps, told.names, {'effort': commands})
