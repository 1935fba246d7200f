"""The simulated robot without ROS: MuJoCo plant and its effects."""

from pkm_dynamics.simulation.effects import PlantEffects, Stribeck
from pkm_dynamics.simulation.plant import PlantSample, SimulatedPlant
from pkm_dynamics.simulation.sensors import correlated_noise

__all__ = ['PlantEffects', 'PlantSample', 'SimulatedPlant', 'Stribeck', 'correlated_noise']
