"""Kinematics and dynamics of closed chains."""

from pkm_dynamics.base_parameters import BaseParameters
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import ActuatorStates, JointStates, PlatformMotion

__all__ = [
    'ActuatorStates',
    'BaseParameters',
    'ClosedChainModel',
    'JointStates',
    'PlatformMotion',
]
