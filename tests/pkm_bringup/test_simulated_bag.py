"""Bags of a simulated robot: what a driver leaves, with its own stamps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pkm_bringup.outputs import OutputError, check_output
from pkm_bringup.simulated_bag import write_bag
from pkm_identification import load

TIME = np.arange(50) / 1000
WAVES = np.column_stack([np.sin(30 * TIME), np.cos(20 * TIME)])
LATE = 4.5e-4  # [s]


@pytest.mark.parametrize(('signal', 'unit'), [('currents', 'A'), ('efforts', 'N')])
def test_signals_come_back(signal: str, unit: str, tmp_path: Path) -> None:
    names = np.array(['left', 'right'])
    arrays = {'time': TIME, 'truth_time': TIME + LATE, 'joint_names': names, 'positions': WAVES}
    write_bag(tmp_path / 'bag', arrays | {signal: 3.0 * WAVES})
    read = load(tmp_path / 'bag', effort_unit=unit)
    assert read.joint_names == ('left', 'right')
    assert np.array_equal(read.positions, WAVES)
    assert np.array_equal(getattr(read, signal), 3.0 * WAVES)
    assert read.effort_delay == pytest.approx(LATE)
    assert np.allclose(read.time, TIME, atol=1e-9)


def test_what_is_neither_file_nor_folder_is_refused(tmp_path: Path) -> None:
    assert check_output(tmp_path / 'run_1', ('.npz', '')).name == 'run_1'
    with pytest.raises(OutputError, match=r'must end in \.npz, or have no suffix: a folder$'):
        check_output(tmp_path / 'run_1.csv', ('.npz', ''))
