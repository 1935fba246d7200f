"""The simulated robot without ROS: MuJoCo plant and its effects."""

from pkm_dynamics.simulation.effects import PlantEffects, Stribeck
from pkm_dynamics.simulation.noise_samples import correlated_noise
from pkm_dynamics.simulation.plant import PlantSample, SimulatedPlant

__all__ = ['PlantEffects', 'PlantSample', 'SimulatedPlant', 'Stribeck', 'correlated_noise']
