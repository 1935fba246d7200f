"""Types of what `__init__` imports when it is asked for."""

from pkm_dynamics.limits.feasibility import check_feasibility as check_feasibility
from pkm_dynamics.limits.margins import FeasibilityReport as FeasibilityReport
from pkm_dynamics.model import ClosedChainModel as ClosedChainModel
from pkm_dynamics.motion import ActuatorStates as ActuatorStates
from pkm_dynamics.motion import JointStates as JointStates
from pkm_dynamics.motion import PlatformMotion as PlatformMotion
from pkm_dynamics.parameters.base_parameters import BaseParameters as BaseParameters
from pkm_dynamics.presets import preset as preset
from pkm_dynamics.presets import preset_names as preset_names
from pkm_dynamics.redundant_model import RedundantModel as RedundantModel
from pkm_dynamics.redundant_model import mechanism_model as mechanism_model
from pkm_dynamics.simulation import PlantEffects as PlantEffects
from pkm_dynamics.simulation import SimulatedPlant as SimulatedPlant
from pkm_dynamics.trajectories import Trajectory as Trajectory
from pkm_dynamics.trajectories import benchmark_circle as benchmark_circle
from pkm_dynamics.trajectories import load_trajectory as load_trajectory
