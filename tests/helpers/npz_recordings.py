"""Recordings as NPZ files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pkm_identification import Recording


def save(path: Path | str, recording: Recording, compressed: bool = False, **more: Any) -> Path:
    """Write what was measured, and `more` arrays; the path."""
    measured = {name: getattr(recording, name) for name in ('efforts', 'currents', 'period')}
    content = {name: value for name, value in measured.items() if value is not None} | more
    write = np.savez_compressed if compressed else np.savez
    write(
        path,
        time=recording.time,
        joint_names=np.array(recording.joint_names),
        positions=recording.positions,
        effort_delay=recording.effort_delay,
        **content,
    )
    return Path(path)
