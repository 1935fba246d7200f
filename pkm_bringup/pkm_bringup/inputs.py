"""What the texts of arguments name: models, data, payloads, trajectories, options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pkm_bringup.arguments import DEFAULT_RAMP, PERIODS, SHIPPED

if TYPE_CHECKING:
    from pkm_description import Payload
    from pkm_dynamics import ClosedChainModel
    from pkm_dynamics.trajectories import Trajectory
    from pkm_identification.excitation import ExcitationDesign


def load_model(robot: str) -> ClosedChainModel:
    """Return the model of a library robot or of a description file."""
    import pkm_description
    import pkm_dynamics

    return pkm_dynamics.ClosedChainModel(pkm_description.load(robot))


def load_payload(text: str) -> Payload | None:
    """Return a payload from `none`, `unknown`, YAML text or a YAML file.

    Raises
    ------
    DescriptionError
        It is none of these; the message names what is wrong.
    """
    from pkm_description import DescriptionError, payload_of

    path = Path(text)
    if path.suffix not in ('.yaml', '.yml'):
        return payload_of(text)
    try:
        content = path.read_text(encoding='utf8')
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(f"payload file '{text}' cannot be read: {error}") from error
    return payload_of(content, f"'{text}': ")


def load_trajectory(text: str, model: ClosedChainModel, any_robot: bool = False) -> Trajectory:
    """Return a named trajectory, or that of a file.

    Parameters
    ----------
    any_robot : bool
        Whether a file that was made for another robot may be taken.

    Raises
    ------
    TrajectoryError
        The file is no trajectory, or belongs to another robot; or the name is unknown.
    FeasibilityError
        The preset of this name does not fit the robot.
    UnderactuatedError
        An excitation is asked for and a degree of freedom of the robot has no drive.
    """
    from pkm_description.errors import TrajectoryError
    from pkm_dynamics.actuation import require_drives
    from pkm_identification.excitation import load_excitation

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
    with _naming(text):
        return trajectory.ordered(model.actuated_joints)


def named_preset(name: str, model: ClosedChainModel) -> Trajectory:
    """Return a preset of the robot by its name; other names are errors with the valid ones."""
    from pkm_description.errors import TrajectoryError
    from pkm_dynamics.presets import preset, preset_names

    names = preset_names(model)
    if name not in names:
        raise TrajectoryError(
            f"there is no trajectory file '{name}' and no preset of that name; valid are a .yaml "
            f'or .csv file, {SHIPPED}, {", ".join(names)}'
        )
    return preset(model, name)


def read_trajectory(text: str) -> Trajectory:
    """Return the trajectory of a trajectory file or of a saved design."""
    from pkm_description.errors import TrajectoryError
    from pkm_dynamics.trajectories import load_trajectory as load_file
    from pkm_identification.excitation import ExcitationDesign

    path = Path(text)
    if not path.is_file():
        raise TrajectoryError(
            f"there is no trajectory file '{text}'; valid are a .yaml or .csv file, {SHIPPED} or "
            'the name of a preset'
        )
    with _naming(text):
        return ExcitationDesign.load(path).trajectory if is_design(path) else load_file(path)


@contextmanager
def _naming(text: str) -> Iterator[None]:
    """Let errors about what a file holds name the file."""
    from pkm_description.errors import TrajectoryError

    try:
        yield
    except TrajectoryError as error:
        message = str(error)
        raise TrajectoryError(message if text in message else f"'{text}': {message}") from error


def design_of(text: str, model: ClosedChainModel) -> ExcitationDesign | None:
    """Return the design that a file holds, or that is shipped; None where it is none."""
    from pkm_identification.excitation import ExcitationDesign, excitation_path

    path = excitation_path(model.description.name) if text == SHIPPED else Path(text)
    if not path.is_file() or not is_design(path):
        return None
    with _naming(text):
        return ExcitationDesign.load(path)


def ramp_time_of(given: float | None, text: str, model: ClosedChainModel) -> float:
    """Return the ramp [s] that was given, else that of the design, else one second."""
    if given is not None:
        return given
    design = design_of(text, model)
    return DEFAULT_RAMP if design is None else float(design.ramp_time)


def periods_of(given: int | None, text: str, trajectory: Trajectory) -> int:
    """Return the periods that were given, else the default; motions that end at rest run once."""
    from pkm_description.errors import TrajectoryError

    if trajectory.period is not None:
        return given or PERIODS
    if given not in (None, 1):
        raise TrajectoryError(f"'{text}' ends at rest and runs once: --periods must be 1")
    return 1


def is_design(path: Path) -> bool:
    """Whether a file holds an excitation design rather than a bare trajectory."""
    from pkm_identification.excitation.excitation_design import FORMAT

    with path.open('rb') as file:
        return f'format: {FORMAT}'.encode() in file.read(4096)
