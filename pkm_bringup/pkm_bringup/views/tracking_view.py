"""How well recorded motions were followed: errors by joint, without a model and with one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.views.console import Table
from pkm_description.errors import DatasetError
from pkm_identification.arrays import Array
from pkm_identification.datasets.bags.bag_reader import matching, read_bag
from pkm_identification.datasets.bags.bag_recording import RUN, STATE

TINY = 1e-12  # [m, rad] an error that is none
JOINTS = ('desired_position', 'position', 'feedforward', 'feedback')
WANTED = ('phase', 'trajectory_time', *JOINTS)
SMOOTH = 0.05  # [s] mean in which gains are looked for: noise and filters of velocities are out
SAME_GAINS = 1.3  # factor up to which observed gains are the same: they are found to some 10 %


@dataclass(frozen=True)
class TrackedRun:
    """Errors of one recorded motion at full speed."""

    name: str
    joint_names: tuple[str, ...]
    time: Array  # (N,) [s] of the trajectory
    errors: Array  # (N, n_a) [m, rad] desired minus measured positions
    has_feedforward: bool  # whether the controller added forces of a model
    gains: Array  # (n_a,) [N/m, N m/rad] of the servo, as its forces follow the errors

    @property
    def rms(self) -> Array:
        """Root mean squares (n_a,) [m, rad]."""
        return np.asarray(np.sqrt(np.mean(self.errors**2, axis=0)))

    @property
    def overall(self) -> float:
        """The same of all joints together."""
        return float(np.sqrt(np.mean(self.errors**2)))


def tracked_run(bag: Path | str, joint_names: Sequence[str], name: str = '') -> TrackedRun | None:
    """Return the errors of a bag with the state of our controller; None of one without.

    DatasetError where the bag cannot be read, or lacks one of the joints.
    """
    recording = read_bag(Path(bag), [STATE], numbers={STATE: WANTED})
    topics = matching(list(recording.topics), STATE)
    if not topics:
        return None
    table = recording.table(topics[0])
    running = table.numbers('phase') == RUN
    if not running.any():
        return None
    names, columns = table.by_joint(JOINTS)
    if not set(JOINTS) <= columns.keys():  # left empty
        return None
    missing = [joint for joint in joint_names if joint not in names]
    if missing:
        raise DatasetError(f"'{bag}': topic '{topics[0]}' has no joint '{missing[0]}'")
    order = [names.index(joint) for joint in joint_names]
    wanted, measured, added, feedback = (columns[key][running][:, order] for key in JOINTS)
    time, errors = table.numbers('trajectory_time')[running], wanted - measured
    gains = observed_gains(time, errors, feedback)
    return TrackedRun(name, tuple(joint_names), time, errors, bool(added.any()), gains)


def observed_gains(time: Array, errors: Array, feedback: Array) -> Array:
    """Proportional gains (n_a,) of a servo from its errors and forces (N, n_a).

    Forces are fitted by the errors and their rates, all averaged over `SMOOTH`; nan of too short a
    run.
    """
    count = max(int(round(SMOOTH / max(float(np.median(np.diff(time))), TINY))), 1)
    if len(time) < 4 * count:
        return np.full(errors.shape[1], np.nan)
    window = np.full(count, 1.0 / count)
    found = []
    for error, force in zip(errors.T, feedback.T, strict=True):
        smooth, wanted = (np.convolve(each, window, 'valid') for each in (error, force))
        rate = np.gradient(smooth, np.convolve(time, window, 'valid'))
        found.append(np.linalg.lstsq(np.stack([smooth, rate], 1), wanted, rcond=None)[0][0])
    return np.array(found)


def baseline_of(run: TrackedRun, runs: Sequence[TrackedRun]) -> TrackedRun | None:
    """Return the first run with the same gains and no feedforward; None where there is none."""
    return next((each for each in runs if not each.has_feedforward and _alike(each, run)), None)


def _alike(first: TrackedRun, second: TrackedRun) -> bool:
    return bool(1.0 / SAME_GAINS < _by(first, second) < SAME_GAINS)


def _by(run: TrackedRun, first: TrackedRun) -> float:
    """Gains of a run by those of another, in the median of the joints."""
    return float(np.median(run.gains / first.gains))


def best_factor(runs: Sequence[TrackedRun]) -> tuple[float, TrackedRun, TrackedRun] | None:
    """Return the most that a feedforward made errors smaller, with it and without; None: none."""
    found = []
    for run in runs:
        before = baseline_of(run, runs) if run.has_feedforward else None
        if before is not None:
            found.append((before.overall / max(run.overall, TINY), run, before))
    return max(found, key=lambda each: each[0], default=None)


def tracking_rows(runs: Sequence[TrackedRun]) -> list[dict[str, Any]]:
    """Return the errors of each run [m, rad], and how many times smaller than without a model."""
    rows = []
    for run in runs:
        before = baseline_of(run, runs)
        factor = None if before is None else before.overall / max(run.overall, TINY)
        row = {'run': run.name, 'feedforward': run.has_feedforward, 'overall': run.overall}
        row |= {'factor': factor, 'gains_by_first': _by(run, runs[0])}
        row['gains'] = dict(zip(run.joint_names, run.gains.tolist(), strict=True))
        rows.append(row | {'rms': dict(zip(run.joint_names, run.rms.tolist(), strict=True))})
    return rows


def tracking_table(runs: Sequence[TrackedRun], unit: str) -> Table:
    """Return the errors of each run in thousandths of a `unit` of positions, m or rad."""
    header = ('run', 'feedforward', 'gains', f'RMS error [m{unit}]', 'times smaller')
    rows = [
        [row['run'], row['feedforward'], float(f'{row["gains_by_first"]:.2g}')]
        + [1e3 * row['overall'], row['factor']]
        + [1e3 * value for value in row['rms'].values()]
        for row in tracking_rows(runs)
    ]
    return Table((*header, *runs[0].joint_names), rows)
