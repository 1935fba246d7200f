"""Everything that is checked before an excitation moves the robot or writes a file.

Facts about the running system come in as data; nothing here talks to ROS.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pkm_description.errors import KinematicsError, PkmError, TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.feasibility import FeasibilityReport
from pkm_dynamics.trajectories import Trajectory
from pkm_identification.arrays import Array
from pkm_identification.datasets.bags.bag_writer import partial_path
from pkm_identification.requests.check_request import CheckRequest, check_motion, planned_motion
from pkm_identification.requests.refusal import Code

BYTES_PER_SAMPLE = 1600  # all topics of a six-axis robot, with overhead
SIZE_FACTOR = 1.5
DISK_RESERVE = 64 * 1024 * 1024  # bytes that stay free
FEASIBILITY_RATE = 500.0  # [Hz]


@dataclass(frozen=True)
class SystemFacts:
    """What the node has seen of the running system."""

    controller_state: str  # lifecycle state of the controller, empty when it does not answer
    # topic name to the age of its last message [s], None where none came
    topic_ages: Mapping[str, float | None]
    # (n_a,) or None measured actuator positions [m, rad], in the model's order
    positions: Array | None = None
    rate: float = 1000.0  # sampling rate of the measurements [Hz]
    digest: str = ''  # of the description that the running system publishes; empty if none
    max_age: float = 1.0  # age from which a topic counts as silent [s]


@dataclass(frozen=True)
class Check:
    """One check; `code` is the reason where it fails."""

    name: str
    ok: bool
    detail: str
    code: Code


@dataclass(frozen=True)
class PreflightReport:
    """All checks, in the order in which they were made."""

    checks: list[Check]
    duration: float = 0.0  # of the whole motion [s]
    bag_bytes: int = 0  # estimated size of the recording
    feasibility: FeasibilityReport | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing stands against the run."""
        return all(check.ok for check in self.checks)

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if not check.ok]

    @property
    def code(self) -> Code | None:
        """Reason of the first failure, None without one."""
        return self.failures[0].code if self.failures else None

    @property
    def message(self) -> str:
        """What is wrong, or that nothing is."""
        if self.ok:
            return 'ready'
        return '; '.join(f'{check.name}: {check.detail}' for check in self.failures)


def run_preflight(
    model: ClosedChainModel,
    trajectory: Trajectory,
    periods: int,
    ramp_time: float,
    bag: str | Path,
    facts: SystemFacts,
    approach_speed: float = 0.1,
) -> PreflightReport:
    """Check a planned excitation: approach, ramps and one period from the measured pose.

    Never raises for what it finds.
    """
    checks: list[Check] = []

    def add(name: str, problem: str, code: Code) -> bool:
        checks.append(Check(name, not problem, problem, code))
        return not problem

    add('controller', _controller_problem(facts), Code.CONTROLLER_NOT_ACTIVE)
    add('topics', _silent(facts), Code.TOPIC_SILENT)
    add('description', _description_problem(model, trajectory, facts), Code.NO_DESCRIPTION)
    request = CheckRequest(
        trajectory,
        ramp_time,
        periods,
        facts.positions,
        approach_speed=approach_speed,
        rate=FEASIBILITY_RATE,
    )
    execution, problem = None, ''
    try:
        execution = planned_motion(request, model)
    except (TrajectoryError, KinematicsError) as error:
        problem = str(error)
    add('trajectory', problem, Code.BAD_TRAJECTORY)
    duration = execution.duration if execution else 0.0
    size = int(SIZE_FACTOR * BYTES_PER_SAMPLE * duration * facts.rate)
    problem, code = bag_problem(Path(bag))
    if add('bag', problem, code):
        add('disk', _disk_problem(Path(bag), size), Code.DISK_FULL)
    report = None
    if execution is not None:
        try:
            report = check_motion(request, model)
            add('limits', '' if report.feasible else report.message, Code.INFEASIBLE)
        except PkmError as error:
            add('limits', str(error), Code.INFEASIBLE)
    return PreflightReport(checks, duration, size, report)


def bag_problem(bag: Path) -> tuple[str, Code]:
    """Return what stands against creating the bag, and the reason."""
    if not str(bag) or str(bag) == '.':
        return 'no bag path was given', Code.CANNOT_WRITE
    for path in (bag, partial_path(bag)):
        if path.exists() or path.is_symlink():
            return f"'{path}' exists already and is not overwritten", Code.BAG_EXISTS
    parent = _existing_parent(bag)
    if not parent.is_dir():
        return f"'{parent}' is not a folder", Code.CANNOT_WRITE
    if not os.access(parent, os.W_OK | os.X_OK):
        return f"no permission to write in '{parent}'", Code.CANNOT_WRITE
    return '', Code.BAG_EXISTS


def _existing_parent(bag: Path) -> Path:
    return next(folder for folder in bag.absolute().parents if folder.exists())


def _controller_problem(facts: SystemFacts) -> str:
    if facts.controller_state == 'active':
        return ''
    if not facts.controller_state:
        return 'the trajectory controller does not answer; start it'
    return f"the trajectory controller is '{facts.controller_state}'; activate it"


def _silent(facts: SystemFacts) -> str:
    problems = []
    for topic, age in facts.topic_ages.items():
        if age is None:
            problems.append(f"no message on '{topic}'")
        elif age > facts.max_age:
            problems.append(f"last message on '{topic}' {age:.2f} s ago")
    return ', '.join(problems)


def _description_problem(
    model: ClosedChainModel, trajectory: Trajectory, facts: SystemFacts
) -> str:
    name = model.description.name
    if trajectory.robot and trajectory.robot != name:
        return f"the trajectory is for robot '{trajectory.robot}', this is '{name}'"
    if facts.digest and facts.digest != model.description.digest:
        return (
            "the running system publishes another description or calibration than this node's "
            f"'{name}'"
        )
    return ''


def _disk_problem(bag: Path, size: int) -> str:
    parent = _existing_parent(bag)
    free = shutil.disk_usage(parent).free
    if free >= size + DISK_RESERVE:
        return ''
    mega = 1e-6
    return (
        f"{free * mega:.0f} MB free in '{parent}', the recording needs about {size * mega:.0f} MB "
        f'and {DISK_RESERVE * mega:.0f} MB stay free'
    )
