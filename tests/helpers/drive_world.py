"""A simulated robot and its control loop in lockstep, on a clock that only they move.

Drives publish states at their own rate, with stamps of a host that is late at random, or two at
once. The loop runs as on a machine: it sleeps until its deadlines, or waits for a state.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from every_model import model_of
from sensor_msgs.msg import JointState

from pkm_control.controller import TrajectoryController
from pkm_control.feedforward import nominal_feedforward
from pkm_control.nodes import control_loop
from pkm_control.nodes.controller_publishers import ControllerPublishers
from pkm_control.nodes.joint_state_reader import JointStateReader
from pkm_description import MotorSide
from pkm_dynamics.joint_servo.gains import servo_gains
from pkm_dynamics.simulation import SimulatedPlant
from pkm_dynamics.trajectories import Phase, benchmark_circle

STEP = 5e-4  # [s] of the plant
START = 100.0  # [s] of the steady clock
BEHIND = 20e-6  # [s] between the stamps of two states that a host reads at once


class World:
    """The robot; `monotonic`, `perf_counter` and `sleep` stand for those of the module `time`."""

    def __init__(self, rate: float, late: float = 0.0, batch: int = 1, geared: bool = False):
        self.model = model_of('palida')
        self.plant = SimulatedPlant(self.model.description, step=STEP, substep=1e-4)
        self.every = round(1.0 / rate / STEP)
        self.late, self.batch = late, batch
        self.random = np.random.default_rng(1)
        self.motors = self._gears() if geared else None
        self.steps = 0
        self.last_stamp = 0
        self.waiting: list[JointState] = []
        self.held: list[tuple[int, np.ndarray]] = []
        self.command = np.zeros(self.model.n_a)
        self.truth: list[tuple[float, np.ndarray]] = []
        self._publish()

    def _gears(self) -> MotorSide:
        joints, n = tuple(self.model.actuated_joints), self.model.n_a
        matrix = np.diag(2e-3 * np.array([1.0, -1.0, 1.0, 1.5, -1.0, 1.0]))  # [m/rad], with signs
        offset, ones = np.linspace(-0.2, 0.3, n), np.ones(n)
        names = tuple(f'motor_{k}' for k in range(n))
        return MotorSide(joints, names, matrix, np.linalg.inv(matrix), offset, ones)

    # -- the clock ------------------------------------------------------------------

    def monotonic(self) -> float:
        return START + self.steps * STEP

    perf_counter = monotonic

    def sleep(self, seconds: float) -> None:
        for _ in range(max(1, round(seconds / STEP))):
            self.step()

    # -- the robot ------------------------------------------------------------------

    def step(self) -> None:
        """Let the last command act for one step of the plant."""
        sample = self.plant.step(self.command)
        self.steps += 1
        self.truth.append((sample.time - 0.5 * STEP, np.array(sample.truth_positions)))
        if self.steps % self.every == 0:
            self._publish()

    def _publish(self) -> None:
        sample = self.plant.sample
        positions, names = sample.positions, self.model.actuated_joints
        if self.motors is not None:
            positions, names = self.motors.motor_positions(positions), self.motors.motors
        late = 1e-9 * self.random.integers(0, round(1e9 * self.late) + 1)
        self.held.append((round(1e9 * (sample.time + late)), positions))
        if len(self.held) < self.batch:
            return
        read_at = self.held[-1][0]
        for k, (stamp, numbers) in enumerate(self.held):
            told = stamp if self.batch == 1 else read_at + round(1e9 * BEHIND * k)
            told = max(told, self.last_stamp + 1000)  # the host's clock does not go back
            message = JointState(name=list(names), position=numbers.tolist())
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(told, 10**9)
            self.waiting.append(message)
            self.last_stamp = told
        self.held.clear()

    def publish(self, message) -> None:
        """Take a command, of joints or of motors."""
        if not hasattr(message, 'data'):
            return  # the state of the controller
        forces = np.array(message.data)
        self.command = forces if self.motors is None else self.motors.joint_efforts(forces)

    # -- the states -----------------------------------------------------------------

    def wait(self, timeout: float) -> bool:
        end = self.monotonic() + timeout
        while not self.waiting and self.monotonic() < end:
            self.step()
        return bool(self.waiting)

    def take(self) -> JointState | None:
        return self.waiting.pop(0) if self.waiting else None


class Run(SimpleNamespace):
    """What a circle was like: `error` [m] RMS of the struts, `faults`, `share` of bandwidth."""


def circle(
    monkeypatch,
    rate: float,  # [Hz] of the states
    mode: str,  # timer or state
    late: float = 0.0,  # [s] the most that a stamp is late by
    batch: int = 1,  # states that the host reads at once
    geared: bool = False,
) -> Run:
    """Follow the benchmark circle once from where the robot rests."""
    world = World(rate, late, batch, geared)
    monkeypatch.setattr(control_loop, 'time', world)
    model = world.model
    controller = TrajectoryController(model, servo_gains(model), nominal_feedforward(model))
    faults, outcomes, ends = [], [], []
    node = SimpleNamespace(create_publisher=lambda kind, name, qos: world)
    loop = control_loop.ControlLoop(
        controller,
        JointStateReader(model.actuated_joints, world.motors),
        SimpleNamespace(wait=world.wait, take=world.take, number=None, publishers=['/robot']),
        ControllerPublishers(node, model.actuated_joints, world.motors),
        SimpleNamespace(close=lambda close: None, closed=False, commanded=True),
        1000.0 if mode == 'timer' else None,
        0.1,
        faults.append,
        outcomes.append,
    )
    deadline = loop._turn(world.monotonic())
    loop.activate()
    trajectory = benchmark_circle(model)
    execution = controller.plan(trajectory, 1, 0.5, 0.5)
    begin, shares, saturated = None, [], 0
    for _ in range(20_000):
        deadline = loop._turn(deadline)
        result = loop.last_result
        if begin is None and world.steps * STEP > 0.3:
            controller.start(execution)
            begin = world.plant.sample.time
        if result is not None and result.phase is Phase.RUN:
            ends.append(world.plant.sample.time)
            shares.append(controller.bandwidth_share)
            saturated += int(result.saturated.any())
        if outcomes or faults:
            break
    time = np.array([t for t, _ in world.truth])
    during = (time >= ends[0]) & (time <= ends[-1])
    time = time[during]
    found = np.array([q for _, q in world.truth])[during]
    first = time - begin - execution.approach_time - 0.5
    x, v = _desired(model, trajectory, first)
    error, late_by = found - x, 0.0
    for _ in range(5):  # states that are told late are a delay, which is no error of the path
        late_by -= float(np.sum(error * v) / np.sum(v * v))
        x, v = _desired(model, trajectory, first - late_by)
        error = found - x
    return Run(
        error=float(np.sqrt(np.mean(error**2))),
        largest=float(np.abs(error).max()),
        late_by=late_by,
        faults=faults,
        outcomes=outcomes,
        share=min(shares),
        saturated=saturated / len(shares),
        statistics=loop.statistics.summary(),
    )


def _desired(model, trajectory, time):
    """Positions and velocities (N, n_a) of the actuators on the path."""
    states = model.actuator_states(trajectory.motion(time, model))
    return states.positions, states.velocities
