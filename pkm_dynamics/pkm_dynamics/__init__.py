"""Kinematics and dynamics of closed chains."""

from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import ActuatorStates, JointStates, PlatformMotion
from pkm_dynamics.parameters.base_parameters import BaseParameters

__all__ = ['ActuatorStates', 'BaseParameters', 'ClosedChainModel', 'JointStates', 'PlatformMotion']
