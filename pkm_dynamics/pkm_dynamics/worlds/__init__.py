"""The robot in other simulators than MuJoCo, each a plant as `simulation.SimulatedPlant` is."""
