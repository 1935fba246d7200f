"""What the texts of arguments name: trajectories, designs, and how they are run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkm_bringup.arguments import DEFAULT_RAMP, PERIODS, SHIPPED
from pkm_description.errors import TrajectoryError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.model import require_drives
from pkm_dynamics.presets import preset, preset_names
from pkm_dynamics.trajectories import FourierTrajectory, Trajectory
from pkm_dynamics.trajectories import load_trajectory as load_file
from pkm_identification.excitation import ExcitationDesign, excitation_path, load_excitation
from pkm_identification.excitation.excitation_design import is_design
from pkm_identification.requests.check_request import CheckRequest


def load_trajectory(text: str, model: ClosedChainModel, any_robot: bool = False) -> Trajectory:
    """Return a named trajectory, or that of a file, which `any_robot` may be made for."""
    robot = model.description.name
    if text == SHIPPED:
        require_drives(model, 'an excitation')
        return load_excitation(robot).ordered(model.actuated_joints)
    path = Path(text)
    if not path.is_file() and not path.suffix:
        return named_preset(text, model)
    trajectory = read_trajectory(text)
    if trajectory.robot and trajectory.robot != robot and not any_robot:
        raise TrajectoryError(
            f"'{text}' was made for robot '{trajectory.robot}', not for '{robot}'"
        )
    try:
        return trajectory.ordered(model.actuated_joints)
    except TrajectoryError as error:
        raise TrajectoryError(f"'{text}': {error}") from error


def named_preset(name: str, model: ClosedChainModel) -> Trajectory:
    """Return a preset of the robot by its name; other names are errors with the valid ones."""
    names = preset_names(model)
    if name not in names:
        raise TrajectoryError(
            f"there is no trajectory file '{name}' and no preset of that name; valid are a .yaml "
            f'or .csv file, {SHIPPED}, {", ".join(names)}'
        )
    return preset(model, name)


def read_trajectory(text: str) -> Trajectory:
    """Return the trajectory of a trajectory file or of a saved design."""
    path = Path(text)
    if not path.is_file():
        raise TrajectoryError(
            f"there is no trajectory file '{text}'; valid are a .yaml or .csv file, {SHIPPED} or "
            'the name of a preset'
        )
    return ExcitationDesign.load(path).trajectory if is_design(path) else load_file(path)


def load_fourier(text: str | None, model: ClosedChainModel) -> FourierTrajectory | None:
    """Return the Fourier trajectory of a file, or the shipped one; None where none is named."""
    if text is None:
        return None
    trajectory = load_trajectory(text, model)
    if not isinstance(trajectory, FourierTrajectory):
        raise TrajectoryError(
            f"'{text}' is a {trajectory.kind} trajectory; a search starts from a Fourier one"
        )
    return trajectory


def design_of(text: str, model: ClosedChainModel) -> ExcitationDesign | None:
    """Return the design that a file holds, or that is shipped; None where it is none."""
    path = excitation_path(model.description.name) if text == SHIPPED else Path(text)
    if not path.is_file() or not is_design(path):
        return None
    return ExcitationDesign.load(path)


def ramp_time_of(given: float | None, text: str, model: ClosedChainModel) -> float:
    """Return the ramp [s] that was given, else that of the design, else one second."""
    if given is not None:
        return given
    design = design_of(text, model)
    return DEFAULT_RAMP if design is None else float(design.ramp_time)


def periods_of(given: int | None, text: str, trajectory: Trajectory) -> int:
    """Return the periods that were given, else the default; motions that end at rest run once."""
    if trajectory.period is not None:
        return given or PERIODS
    if given not in (None, 1):
        raise TrajectoryError(f"'{text}' ends at rest and runs once: --periods must be 1")
    return 1


def facts_of(trajectory: Trajectory, model: ClosedChainModel) -> dict[str, Any]:
    """Return what a motion of a robot is, as plain values."""
    facts: dict[str, Any] = {'robot': model.description.name, 'type': trajectory.kind}
    facts |= {'coordinates': trajectory.coordinates, 'duration': trajectory.duration}
    return facts | {'periodic': trajectory.period is not None}


def run_of(trajectory: Trajectory, ramp_time: float, from_home: bool = False) -> CheckRequest:
    """Return one run from standstill to standstill; what ends at rest has no ramps."""
    ramp = 0.0 if trajectory.period is None else ramp_time
    return CheckRequest(trajectory, ramp, from_home=from_home)
