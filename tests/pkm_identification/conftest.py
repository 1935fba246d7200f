"""A two-slider robot that needs no description file, and bags of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from pkm_dynamics.motion import ActuatorStates
from pkm_dynamics.parameters.groups import build_parameter_space
from pkm_identification.datasets import BagWriter, Recording
from pkm_identification.datasets.bags.message_types import complete_typestore, jazzy_typestore

JOINTS = ['left', 'right']
REPOSITORY = Path(__file__).parents[2]


@dataclass
class SliderMotion:
    """Actuator motion (N, 2) as both motion and joint state."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray

    def __len__(self) -> int:
        return len(self.q)


@dataclass(eq=False)
class SliderBase:
    """All parameters of the sliders are identifiable: base parameters are the standard ones."""

    names: list[str]
    units: list[str]
    rank: int = 7
    matrix: np.ndarray = field(default_factory=lambda: np.eye(7))
    columns: np.ndarray = field(default_factory=lambda: np.eye(7))
    model: object = None

    @property
    def expressions(self) -> list[str]:
        return self.names

    @property
    def space(self):
        return build_parameter_space(self.model, shared=False)

    @property
    def is_rigid_body(self) -> np.ndarray:
        return np.array([True] * 3 + [False] * 4)

    def regressor(self, motion: SliderMotion) -> np.ndarray:
        return self.model.regressor(motion)


class SliderModel:
    """Two carriages (m1, m2) that carry a third mass together; friction in both rails."""

    actuated_joints = JOINTS
    joint_names = [*JOINTS, 'idle']
    free_joints: list[str] = []
    drive_states = ()  # of friction without a past
    parameter_names = [
        'a.m',
        'b.m',
        'c.m',
        'left.coulomb',
        'left.viscous',
        'right.coulomb',
        'right.viscous',
    ]
    parameter_units = ['kg', 'kg', 'kg', 'N', 'N s/m', 'N', 'N s/m']
    parameter_kinds = ['rigid_body'] * 3 + ['friction'] * 4
    nominal_parameters = np.array([2.0, 3.0, 1.5, 4.0, 10.0, 6.0, 12.0])
    n_a, n_p = 2, 7
    load_friction = ()  # of no joint
    force_constants = np.array([20.0, 25.0])
    force_limit = np.array([300.0, 300.0])
    lower, upper = np.zeros(2), np.ones(2)
    home_actuators = home_joints = np.array([0.3, 0.4])
    description = SimpleNamespace(
        name='sliders',
        digest='d' * 64,
        same_design=(),
        links=(),
        joints=(),
        constraints=(),
        path=None,
        urdf='<robot/>',
        yaml_text='',
        transition_velocity=0.002,
        drive_terms={},
        driven_joints=JOINTS,
        followers=(),
        redundant_actuation=None,
        joint=lambda name: SimpleNamespace(type='prismatic', friction=None),
    )

    def actuator_states(self, motion: SliderMotion) -> ActuatorStates:
        return ActuatorStates(motion.q, motion.qd, motion.qdd)

    def motion_from_actuators(self, q, qd, qdd, initial=None):
        return SliderMotion(np.asarray(q), np.asarray(qd), np.asarray(qdd))

    def configurations_of_actuators(self, q):
        return SimpleNamespace(joints=np.asarray(q)), np.ones(len(q), dtype=bool)

    def regressor(self, motion: SliderMotion) -> np.ndarray:
        y = np.zeros((len(motion), 2, 7))
        y[:, 0, 0] = motion.qdd[:, 0]
        y[:, 1, 1] = motion.qdd[:, 1]
        y[:, :, 2] = motion.qdd.sum(axis=1)[:, None]
        step = np.clip(motion.qd / 0.002, -1, 1)
        y[:, 0, 3], y[:, 0, 4] = step[:, 0], motion.qd[:, 0]
        y[:, 1, 5], y[:, 1, 6] = step[:, 1], motion.qd[:, 1]
        return y

    def inverse_dynamics(self, motion, parameters=None):
        p = self.nominal_parameters if parameters is None else parameters
        return self.regressor(motion) @ p

    def parameter_mask(self, kind: str) -> np.ndarray:
        rigid = np.array([True] * 3 + [False] * 4)
        none = np.zeros(7, bool)
        return {'rigid_body': rigid, 'friction': ~rigid, 'rotor': none, 'drive': none}[kind]

    def with_drive_terms(self, terms):
        """Return the robot as it is: a rotor is the mass of its slider."""
        return self

    def base_parameters(self, shared=False, reduced=False):
        return SliderBase(self.parameter_names, self.parameter_units, model=self)


@pytest.fixture
def slider_model() -> SliderModel:
    """The robot of the unit tests."""
    return SliderModel()


def slider_motion(time: np.ndarray, period: float = 1.0) -> SliderMotion:
    """Three harmonics an axis, differentiated by hand."""
    w = 2 * np.pi / period
    sine = np.array([[0.05, 0.02, 0.004], [0.03, -0.03, 0.006]])
    cosine = np.array([[0.01, -0.015, 0.005], [-0.02, 0.01, 0.004]])
    k = w * np.arange(1, 4)
    angle = time[:, None] * k
    s, c = np.sin(angle), np.cos(angle)
    q = np.array([0.3, 0.4]) + s @ sine.T + c @ cosine.T
    qd = (c * k) @ sine.T - (s * k) @ cosine.T
    qdd = -(s * k**2) @ sine.T - (c * k**2) @ cosine.T
    return SliderMotion(q, qd, qdd)


@pytest.fixture
def motion():
    """The function that gives the motion of the sliders at given times."""
    return slider_motion


@pytest.fixture
def record(slider_model):
    """The function that simulates a recording with noise that is correlated between the axes."""

    def simulate(
        periods=8,
        period=1.0,
        force_noise=8.0,
        position_noise=1e-5,
        seed=0,
        rate=1000.0,
        delay=0.0,
        correlation=0.8,
        **fields,
    ):
        random = np.random.default_rng(seed)
        time = np.arange(round(periods * period * rate)) / rate
        forces = slider_model.inverse_dynamics(slider_motion(time + delay, period))
        mixing = np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]])
        axes = np.array([1.0, 3.0])
        return Recording.from_arrays(
            time,
            JOINTS,
            slider_motion(time, period).q
            + position_noise * random.normal(size=forces.shape) @ mixing.T,
            forces + force_noise * (random.normal(size=forces.shape) @ mixing.T) * axes,
            effort_delay=delay,
            **fields,
        )

    return simulate


@pytest.fixture
def definitions() -> dict[str, str]:
    """Texts of the project's message definitions."""
    folder = REPOSITORY / 'pkm_msgs' / 'msg'
    return {f'pkm_msgs/msg/{p.stem}': p.read_text() for p in folder.glob('*.msg')}


@pytest.fixture
def bag_of(definitions):
    """The function that writes a bag from measured arrays."""

    def write(
        path,
        time,
        positions,
        currents,
        *,
        names=JOINTS,
        delay=0.0,
        run=None,
        commands=None,
        period=None,
        skip=(),
        metadata=None,
        truth=None,
        shuffle=None,
    ):
        store = jazzy_typestore()
        for name in definitions:
            complete_typestore(name, definitions, store)
        types = store.types
        header_of = types['std_msgs/msg/Header']
        time_of = types['builtin_interfaces/msg/Time']
        empty = np.zeros(0)

        def header(stamp):
            return header_of(time_of(int(stamp) // 10**9, int(stamp) % 10**9), '')

        def send(writer, topic, kind, stamp, *fields):
            if topic not in skip:
                data = store.serialize_cdr(types[kind](header(stamp), *fields), kind)
                writer.write(f'/robot/{topic}', kind, bytes(data), int(stamp))

        with BagWriter(path, definitions=definitions) as writer:
            writer.add_topic('/robot/joint_states', 'sensor_msgs/msg/JointState')
            for i, t in enumerate(np.round(time * 1e9).astype(np.int64)):
                order = list(range(len(names)))
                if shuffle and i % shuffle == 0:
                    order.reverse()
                send(
                    writer,
                    'joint_states',
                    'sensor_msgs/msg/JointState',
                    t,
                    [names[j] for j in order],
                    positions[i][order],
                    empty,
                    empty,
                )
                stamp = t + round(delay * 1e9)
                send(
                    writer,
                    'motor_currents',
                    'pkm_msgs/msg/MotorCurrents',
                    stamp,
                    list(names),
                    currents[i],
                )
                if truth is not None:
                    send(
                        writer,
                        'ground_truth',
                        'sensor_msgs/msg/JointState',
                        stamp,
                        list(names),
                        *(values[i] for values in truth),
                    )
                if run is not None:
                    first, last = run
                    phase = 4 if first <= time[i] < last else 3
                    send(
                        writer,
                        'trajectory_controller/state',
                        'pkm_msgs/msg/ControllerState',
                        t,
                        list(names),
                        phase,
                        time[i] - first,
                        0,
                        *[empty] * 5,
                        empty if commands is None else commands[i],
                        np.zeros(0, bool),
                        'none',
                        0.0,
                        1.0,
                    )
            text = yaml.safe_dump((metadata or {}) | ({'period': period} if period else {}))
            if 'pkm/metadata' not in skip:
                writer.write_text('/robot/pkm/metadata', text, 1)
            writer.write_text('/robot/robot_description', '<robot name="sliders"/>', 1)
        return path

    return write
