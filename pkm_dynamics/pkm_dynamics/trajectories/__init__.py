"""Trajectories as parameters and their execution from standstill to standstill."""

from pkm_dynamics.trajectories.base import COORDINATES, PLATFORM_COORDINATES, Trajectory
from pkm_dynamics.trajectories.circle import CircleTrajectory, benchmark_circle
from pkm_dynamics.trajectories.execution import Execution, ExecutionState, Phase, StoppedExecution
from pkm_dynamics.trajectories.fourier import FourierTrajectory
from pkm_dynamics.trajectories.io import dump_trajectory, load_trajectory, save_trajectory
from pkm_dynamics.trajectories.point_to_point import PointToPoint
from pkm_dynamics.trajectories.sampled import SampledTrajectory

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
    'StoppedExecution',
    'Trajectory',
    'benchmark_circle',
    'dump_trajectory',
    'load_trajectory',
    'save_trajectory',
]
