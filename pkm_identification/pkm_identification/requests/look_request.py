"""Look at a recording: its columns, its signals by joint, what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError
from pkm_dynamics import ClosedChainModel
from pkm_identification.datasets import Recording, load
from pkm_identification.datasets.portion import portion_of
from pkm_identification.datasets.tables.column_mapping import ForeignFormError
from pkm_identification.datasets.tables.column_proposal import proposal_hint, proposed_mapping
from pkm_identification.datasets.tables.foreign_table import FOREIGN
from pkm_identification.datasets.tables.table_figures import ColumnFigures, table_figures
from pkm_identification.quality.examine import examined
from pkm_identification.quality.report import Quality

SIGNALS = ('positions', 'velocities', 'efforts', 'currents')


@dataclass(frozen=True)
class Look:
    """What a recording holds."""

    columns: list[ColumnFigures]  # of a table; empty of a bag
    recording: Recording | None  # as it is read; None where it cannot be
    quality: Quality | None  # None where the recording has no efforts, or cannot be read
    refusal: DatasetError | None  # why it cannot be read, or not be used for the robot
    proposal: str  # text of a file of names that may fit; empty where none is needed or known
    warnings: list[str]  # about positions that leave the strokes of the robot

    def ranges(self) -> list[dict[str, Any]]:
        """Smallest and largest value of each signal in SI units, one row a joint."""
        if self.recording is None:
            return []
        rows: list[dict[str, Any]] = [{'joint': name} for name in self.recording.joint_names]
        for block in self.recording.source.blocks():
            for signal in SIGNALS:
                values = getattr(block, signal)
                for row, column in zip(rows, () if values is None else values.T, strict=False):
                    low, high = row.get(signal, (np.inf, -np.inf))
                    row[signal] = [
                        float(np.nanmin(column, initial=low)),
                        float(np.nanmax(column, initial=high)),
                    ]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        recording = self.recording
        return {
            'columns': [asdict(each) for each in self.columns],
            'samples': None if recording is None else len(recording),
            'duration': None if recording is None else recording.duration,
            'interval': None if recording is None else recording.interval,
            'period': None if recording is None else recording.period,
            'joints': self.ranges(),
            'quality': None if self.quality is None else self.quality.to_dict(),
            'refusal': None if self.refusal is None else str(self.refusal),
            'proposal': self.proposal,
            'warnings': self.warnings,
        }


def look_at(data: str, loading: Mapping[str, Any], model: ClosedChainModel | None = None) -> Look:
    """Look at a recording as `load` reads it, of a robot where one is named.

    A `DatasetError` where not even the columns of a table can be read; what keeps the recording
    from being used is in `refusal`.
    """
    path = portion_of(data).path
    joints = () if model is None else model.actuated_joints
    recording, quality, proposal, warnings = None, None, '', []
    refusal: DatasetError | None = None
    try:
        recording = load(data, **loading)
        ordered = recording if model is None else recording.for_model(model)
        quality = examined(ordered).quality if ordered.has_efforts else None
        warnings = [] if model is None else ordered.stroke_warnings(model)
    except ForeignFormError as error:
        refusal = ForeignFormError(error.reason, proposal_hint(path, joints))
        proposal = proposed_mapping(path, joints)
    except DatasetError as error:
        refusal = error
    is_table = path.is_file() and path.suffix.lower() in FOREIGN
    columns = table_figures(path, loading.get('columns')) if is_table else []
    return Look(columns, recording, quality, refusal, proposal, warnings)
