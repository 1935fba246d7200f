"""The robot in other simulators than MuJoCo, each a plant as `simulation.SimulatedPlant` is."""

MUJOCO = 'mujoco'
#: Names of the worlds; see `named_worlds.plant_in`.
WORLDS = (MUJOCO, 'gazebo', 'dart', 'equations')
