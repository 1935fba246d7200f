"""Trajectories as parameters and their execution from standstill to standstill."""

from pkm_dynamics.trajectories.base import COORDINATES, PLATFORM_COORDINATES, Trajectory
from pkm_dynamics.trajectories.circle import CircleTrajectory, benchmark_circle
from pkm_dynamics.trajectories.execution import Execution, ExecutionState, PacedExecution, Phase
from pkm_dynamics.trajectories.fourier_series import FourierTrajectory
from pkm_dynamics.trajectories.point_to_point import PointToPoint
from pkm_dynamics.trajectories.sampled import SampledTrajectory
from pkm_dynamics.trajectories.through_states import ThroughStates
from pkm_dynamics.trajectories.trajectory_files import load_trajectory, trajectory_from_dict

__all__ = [
    'COORDINATES',
    'PLATFORM_COORDINATES',
    'CircleTrajectory',
    'Execution',
    'ExecutionState',
    'FourierTrajectory',
    'Phase',
    'PointToPoint',
    'SampledTrajectory',
    'PacedExecution',
    'ThroughStates',
    'Trajectory',
    'benchmark_circle',
    'load_trajectory',
    'trajectory_from_dict',
]
