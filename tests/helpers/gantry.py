"""A gantry with an analytic model: three decoupled axes that carry one platform.

It stands in for `ClosedChainModel` where a test wants to know every number: actuator i
moves the platform along axis i, the forces are m (a + g) + friction + rotor a.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from pkm_dynamics.motion import JointStates, PlatformMotion

AXES = ('x', 'y', 'z')


class Gantry:
    """The model of the gantry, with the names of `ClosedChainModel` that a controller uses."""

    def __init__(self, mass=10.0, coulomb=5.0, viscous=20.0, rotor=2.0, force_limit=200.0) -> None:
        slider = SimpleNamespace(type='prismatic')
        own = {'sidecar': {}, 'constraints': (), 'joint': lambda name: slider}
        self.description = SimpleNamespace(
            name='gantry', digest='0' * 64, redundant_actuation=None, followers=(), **own
        )
        self.actuated_joints = list(AXES)
        self.free_joints: list[str] = []
        self.joint_names = list(AXES)
        self.n_a = 3
        self.parameter_names = (
            ['platform.m']
            + [f'{axis}.{kind}' for axis in AXES for kind in ('coulomb', 'viscous')]
            + [f'{axis}.rotor' for axis in AXES]
        )
        self.n_p = len(self.parameter_names)
        self.nominal_parameters = np.array([mass] + [coulomb, viscous] * 3 + [rotor] * 3)
        self.home_position = np.zeros(3)
        self.home_rotation = np.eye(3)
        self.home_actuators = np.zeros(3)
        self.lower, self.upper = np.full(3, -1.0), np.full(3, 1.0)
        self.velocity_limit = np.full(3, 3.0)
        self.force_limit = np.full(3, force_limit)
        self.singular_at = np.inf
        self.drive_states = None

    def parameter_mask(self, kind: str) -> np.ndarray:
        endings = {
            'rigid_body': ('.m',),
            'friction': ('.coulomb', '.viscous'),
            'rotor': ('.rotor',),
            'drive': (),
        }
        return np.array([name.endswith(endings[kind]) for name in self.parameter_names])

    def motion_from_actuators(self, q, qd, qdd, initial=None) -> PlatformMotion:
        count, zero = len(q), np.zeros((len(q), 3))
        return PlatformMotion(
            q, np.tile(np.eye(3), (count, 1, 1)), np.hstack([qd, zero]), np.hstack([qdd, zero])
        )

    def joint_states(self, motion) -> JointStates:
        from pkm_description.errors import KinematicsError

        if motion.position.max() > self.singular_at:
            raise KinematicsError('singular')
        return JointStates(motion.position, motion.twist[:, :3], motion.acceleration[:, :3])

    def inverse_dynamics(self, motion, parameters=None) -> np.ndarray:
        p = self.nominal_parameters if parameters is None else parameters
        v, a = motion.twist[:, :3], motion.acceleration[:, :3]
        friction = p[1:7:2] * np.clip(v / 0.002, -1.0, 1.0) + p[2:8:2] * v
        return p[0] * (a + [0.0, 0.0, 9.81]) + friction + p[7:10] * a

    def states_and_forces(self, motion, parameters=None):
        return self.joint_states(motion), self.inverse_dynamics(motion, parameters)


class ShuffledGantry(Gantry):
    """The gantry with a passive joint and the axes in another order among the joints."""

    def __init__(self) -> None:
        super().__init__()
        self.joint_names = ['passive', 'z', 'x', 'y']

    def joint_states(self, motion) -> JointStates:
        states = super().joint_states(motion)
        return JointStates(*(np.hstack([s[:, :1] + 7.0, s[:, [2, 0, 1]]]) for s in states))


class GantryPlant:
    """The gantry itself: double integrators, sub-stepped, with exact or noisy sensors."""

    def __init__(self, model: Gantry, step=1e-3, noise=0.0, seed=0, start=(0.0, 0.0, 0.0)) -> None:
        self.model, self.step_time, self.noise = model, step, noise
        self.random = np.random.default_rng(seed)
        self.q, self.v = np.array(start, dtype=float), np.zeros(3)
        self.sample = SimpleNamespace(time=0.0, positions=self.q.copy())
        self.commands: list[np.ndarray] = []

    def step(self, command):
        p, h = self.model.nominal_parameters, self.step_time / 5
        self.commands.append(np.array(command))
        for _ in range(5):
            friction = p[1:7:2] * np.clip(self.v / 0.002, -1.0, 1.0) + p[2:8:2] * self.v
            force = command - friction - p[0] * np.array([0.0, 0.0, 9.81])
            self.v = self.v + h * force / (p[0] + p[7:10])
            self.q = self.q + h * self.v
        measured = self.q + self.noise * self.random.normal(size=3)
        self.sample = SimpleNamespace(
            time=self.sample.time + self.step_time,
            positions=measured,
            truth_positions=self.q.copy(),
        )
        return self.sample
