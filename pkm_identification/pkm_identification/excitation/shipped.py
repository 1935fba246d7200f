"""Excitation trajectories that are shipped with the package."""

from __future__ import annotations

from pathlib import Path

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import FourierTrajectory, Trajectory, load_trajectory
from pkm_identification.excitation.excitation_design import ExcitationDesign, is_design

DESIGNS = Path(__file__).parent / 'designs'


def shipped_excitations() -> list[str]:
    """Return the robots for which an excitation is shipped."""
    return sorted(path.stem for path in DESIGNS.glob('*.yaml'))


def excitation_path(robot: str) -> Path:
    """Return the file of the excitation shipped for a robot of the library."""
    path = DESIGNS / f'{robot}.yaml'
    if robot not in shipped_excitations():
        valid = ', '.join(shipped_excitations()) or 'none'
        raise TrajectoryError(
            f"no excitation is shipped for robot '{robot}'; shipped are {valid}. "
            'Design one with design_excitation'
        )
    return path


def load_excitation(robot_or_path: str | Path) -> FourierTrajectory:
    """Return the excitation of a library robot, or of a trajectory or design file."""
    path = Path(robot_or_path)
    if not path.suffix:
        path = excitation_path(str(robot_or_path))
    trajectory = load_motion(path)
    if not isinstance(trajectory, FourierTrajectory):
        raise TrajectoryError(f'{path}: an excitation is a Fourier trajectory')
    return trajectory


def load_motion(path: str | Path) -> Trajectory:
    """Return the trajectory in a trajectory or design file; raises TrajectoryError."""
    path = Path(path)
    try:
        holds_design = is_design(path)
    except OSError as error:
        raise TrajectoryError(f'{path}: cannot be read ({error})') from None
    return ExcitationDesign.load(path).trajectory if holds_design else load_trajectory(path)
