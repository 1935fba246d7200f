"""Numbers of a dataset in whole decimal steps: the same in all formats and on all machines.

A processor of another type rounds differently in the last digits. Sensors do not resolve these:
in their steps the numbers are the same, unless one lies within an error of rounding of the middle
between two steps.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array

Decimals = Mapping[str, int]
# By the kinds of columns. Of recordings 0.1 um, 0.1 urad, 1 mN and 1 mN m, below the noise of all
# robots; stamps in nanoseconds, as ROS has them.
RECORDING: Decimals = {'time': 9, 'position': 7, 'effort': 3}
MOTION: Decimals = {'time': 9, 'position': 9, 'velocity': 8, 'acceleration': 7}
FORCES: Decimals = {'time': 9, 'effort': 5}
EXACT = 15.0  # equal digits of what a double holds; nothing is told apart beyond


@dataclass(frozen=True)
class Content:
    """Signals of some joints: `time` (N,) [s] and others (N, n), by kind."""

    joints: tuple[str, ...]
    signals: Mapping[str, Array]
    decimals: Decimals

    @classmethod
    def of(cls, joints: Sequence[str], decimals: Decimals, *signals: Array) -> Content:
        """Round signals, in the order of the kinds, to their steps."""
        named = zip(decimals, signals, strict=True)
        # + 0.0: no negative zero, which a text with the same digits may have
        rounded = {kind: np.round(values, decimals[kind]) + 0.0 for kind, values in named}
        return cls(tuple(joints), rounded, decimals)

    @property
    def columns(self) -> dict[str, Array]:
        """Columns (N,) as tables name them."""
        found = {}
        for kind, values in self.signals.items():
            if kind == 'time':
                found[kind] = values
                continue
            names = [f'{joint}.{kind}' for joint in self.joints]
            found.update(zip(names, values.T, strict=True))
        return found

    def digest(self) -> str:
        """SHA-256 of names and of whole numbers of steps, whatever file they came from."""
        total = hashlib.sha256(json.dumps([self.joints, dict(self.decimals)]).encode())
        for kind, values in self.signals.items():
            steps = np.rint(values * 10.0 ** self.decimals[kind]).astype('<i8')
            total.update(f'{kind} {steps.shape}'.encode() + np.ascontiguousarray(steps).tobytes())
        return total.hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def difference(here: Content, there: Content) -> dict[str, Any]:
    """Say in which column and by how much two contents differ most.

    `largest` difference relative to the spread (standard deviation) of its column, the number of
    `digits` of its largest value that are equal in all of the column, the number of `numbers` that
    differ by half a step or more, and in which `columns`. DatasetError where names or lengths
    differ.
    """
    if here.joints != there.joints or list(here.signals) != list(there.signals):
        raise DatasetError('columns differ')
    lengths = [len(each.signals['time']) for each in (here, there)]
    if lengths[0] != lengths[1]:
        raise DatasetError(f'{lengths[1]} samples, {lengths[0]} when made here')
    found: dict[str, Any] = {'largest': 0.0, 'digits': EXACT, 'numbers': 0, 'columns': []}
    other = there.columns
    for name, values in here.columns.items():
        kind = name.rpartition('.')[2]
        off = np.abs(values - other[name])
        wrong = int(np.count_nonzero(~(off < 0.5 * 10.0 ** -here.decimals[kind])))
        if not wrong:
            continue
        largest = float(np.max(off))
        relative = largest / max(float(np.std(values)), np.finfo(float).tiny)
        digits = -np.log10(largest / max(float(np.max(np.abs(values))), np.finfo(float).tiny))
        found['numbers'] += wrong
        found['columns'].append(name)
        found['largest'] = max(found['largest'], relative)
        found['digits'] = min(found['digits'], max(float(np.floor(digits)), 0.0))
    return found
