"""Files that are never overwritten."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import TrajectoryError
from pkm_dynamics.atomic_write import write_atomically, write_text_atomically
from pkm_dynamics.trajectories import FourierTrajectory


def test_a_trajectory_does_not_replace_a_file(tmp_path) -> None:
    motion = FourierTrajectory(1.0, np.zeros(6), np.zeros((6, 1)), np.zeros((6, 1)))
    path = tmp_path / 'new' / 'motion.yaml'
    motion.save(path)
    content = path.read_text()
    with pytest.raises(TrajectoryError, match=r'motion\.yaml.*exists already'):
        motion.save(path)
    assert path.read_text() == content


def test_a_failed_write_leaves_nothing(tmp_path) -> None:
    def fail(part) -> None:
        part.write_text('half')
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomically(tmp_path / 'a.txt', fail)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / 'file').write_text('')
    with pytest.raises(TrajectoryError, match='cannot be written'):
        write_text_atomically(tmp_path / 'file' / 'a.txt', '', TrajectoryError)
