"""What the demo does, step by step, with a robot that nodes or this process move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pkm_bringup.views.tracking_view import TrackedRun
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import Trajectory, benchmark_circle
from pkm_dynamics.worlds import MUJOCO
from pkm_identification import IdentificationResult, Validation, load, load_result, validate
from pkm_identification.arrays import Array
from pkm_identification.excitation.excitation_design import load_excitation

HIGH_GAINS = 2.0
DESCRIBED = 'described'  # friction: what the description says


class Knowledge(Enum):
    """What the controller's feedforward knows; the values name the runs."""

    NOTHING = 'no model'
    RIGID_BODY = 'rigid body'
    FULL = 'whole model'


@dataclass(frozen=True)
class DemoOptions:
    """Choices of a demo run.

    The servo turns the position sensors' noise into real forces, which only averaging over many
    periods removes.
    """

    output: Path  # folder for recordings, models, pictures and logs; must not hold files yet
    periods: int  # of the excitation, recorded
    circle_periods: int
    validation_periods: int  # of the circles whose forces are predicted
    robot: str = 'palida'
    excitation: str = ''  # file; the one shipped for the robot where empty
    estimator: str = 'gauss_markov'
    friction: str = 'auto'  # which terms of the drives the model gets: by the data, or as described
    world: str = MUJOCO  # simulator that the robot moves in
    seed: int = 0  # of the simulated robot's noise
    quick: bool = False  # in one process, without ROS 2


@dataclass(frozen=True)
class Identification:
    """One identification from an excitation."""

    recording: Path
    model_file: Path
    result: IdentificationResult
    # base parameters (r,) of the simulated robot; nan of terms that its description does not have
    truth: Array

    @property
    def within_three(self) -> tuple[int, int]:
        """Number of parameters within three standard deviations of the truth, and of all with one.

        What the robot does beyond its description moves the parameters that make up for it.
        """
        known = np.isfinite(self.truth)
        off = np.abs(self.result.values - self.truth)[known]
        return int(np.sum(off <= 3 * self.result.standard_deviation[known])), int(known.sum())


@dataclass(frozen=True)
class Tracking:
    """Root mean square position errors (n_a,) [m, rad] of the circle, by run."""

    errors: dict[str, Array]

    @property
    def overall(self) -> dict[str, float]:
        """The same of all actuators together."""
        return {name: float(np.sqrt(np.mean(rms**2))) for name, rms in self.errors.items()}

    @property
    def factors(self) -> dict[str, float]:
        """How many times smaller the error is than without a model."""
        overall = self.overall
        return {name: overall[Knowledge.NOTHING.value] / each for name, each in overall.items()}


@dataclass(frozen=True)
class DemoResult:
    """Everything the demo measured, of the robot with all its effects."""

    identification: Identification
    circle: Validation  # forces that the model predicts of the circle
    mirrored: Validation  # and of its mirror image
    tracking: Tracking
    high_gain_tracking: Tracking  # with gains twice as high
    circles: dict[str, TrackedRun]  # the circle by run
    recording: Path  # of the circle with the whole model


class DemoRobot(Protocol):
    """A robot that can be driven, recorded and identified; errors are PkmErrors."""

    suffix: str  # of the recordings' names

    def begin(self, gain_scale: float) -> None:
        """Hold the robot, with gains of so many times the default ones."""

    def remove_model(self) -> None:
        """Control by feedback alone."""

    def apply_model(self, model: Path, friction: bool) -> None:
        """Control with an identified model, with or without its friction."""

    def identify(self, data: Path, estimator: str, output: Path, **options: Any) -> object:
        """Identify from a recording and write a model file."""

    def record(
        self,
        trajectory: Trajectory,
        periods: int,
        data: Path,
        progress: Callable[[str, float], None],
    ) -> None:
        """Drive a trajectory and record it."""

    def tracked(self, data: Path) -> TrackedRun:
        """Return how a recorded trajectory was followed."""


@dataclass
class Scenario:
    """The demo's steps in order.

    `progress` takes a step's name, its phase and its fraction; `identified` is called with the
    identification as soon as it is there.
    """

    robot: DemoRobot
    model: ClosedChainModel
    options: DemoOptions
    progress: Callable[[str, str, float], None]
    identified: Callable[[Identification], None]

    def __post_init__(self) -> None:
        """Load the motions."""
        self._excitation = load_excitation(self.options.excitation or self.options.robot)
        self._circle = benchmark_circle(self.model)
        self._mirror = benchmark_circle(self.model, mirrored=True)
        self._recordings: dict[str, Path] = {}

    def run(self) -> DemoResult:
        """Run everything; raises PkmError at the first step that fails."""
        full = Knowledge.FULL
        self.progress('start the robot', 'waiting for it', 0.0)
        self.robot.begin(1.0)
        found = self._identify('excitation', 'model')
        self.identified(found)
        circles, long = {}, self.options.validation_periods
        for knowledge in Knowledge:
            periods = long if knowledge is full else 0
            name = knowledge.value
            circles[name] = self._drive(name, knowledge, found, self._circle, periods)
        mirrored = 'mirrored circle'
        self._drive(mirrored, full, found, self._mirror, long)
        recording = self._recordings[full.value]
        of_circle, of_mirrored = (
            validate(load(path), found.result, self.model)
            for path in (recording, self._recordings[mirrored])
        )
        self.robot.begin(HIGH_GAINS)
        high = {}
        for knowledge in (Knowledge.NOTHING, full):
            step = f'{knowledge.value}, gains x {HIGH_GAINS:g}'
            high[knowledge.value] = self._drive(step, knowledge, found, self._circle)
        tracking, high_gain_tracking = (
            Tracking({name: run.rms for name, run in runs.items()}) for runs in (circles, high)
        )
        return DemoResult(
            found, of_circle, of_mirrored, tracking, high_gain_tracking, circles, recording
        )

    def _identify(self, step: str, model_name: str) -> Identification:
        """Excite without a model, record, identify."""
        self.robot.remove_model()
        self._record(step, self._excitation, self.options.periods)
        model_file = self.options.output / f'{model_name}.yaml'
        self.progress(step, 'identifying', 1.0)
        options = {} if self.options.friction == DESCRIBED else {'friction': self.options.friction}
        self.robot.identify(self._recordings[step], self.options.estimator, model_file, **options)
        result = load_result(model_file, self.model)
        return Identification(self._recordings[step], model_file, result, self._truth(result))

    def _truth(self, result: IdentificationResult) -> Array:
        """Base parameters (r,) of the description; nan where a term is in them that it lacks."""
        known = dict(zip(self.model.parameter_names, self.model.nominal_parameters, strict=True))
        own = np.array([name in known for name in result.parameter_names])
        values = np.array([known.get(name, 0.0) for name in result.parameter_names])
        lacking = np.any(result.matrix[:, ~own] != 0, axis=1)
        return np.where(lacking, np.nan, result.matrix @ values)

    def _drive(
        self,
        step: str,
        knowledge: Knowledge,
        identification: Identification,
        trajectory: Trajectory,
        periods: int = 0,
    ) -> TrackedRun:
        """Drive a trajectory with what is known of the robot."""
        if knowledge is Knowledge.NOTHING:
            self.robot.remove_model()
        else:
            friction = knowledge is Knowledge.FULL
            self.robot.apply_model(identification.model_file, friction=friction)
        self._record(step, trajectory, periods or self.options.circle_periods)
        return self.robot.tracked(self._recordings[step])

    def _record(self, step: str, trajectory: Trajectory, periods: int) -> None:
        words = ''.join(c if c.isalnum() else ' ' for c in step).split()
        path = self.options.output / 'bags' / ('_'.join(words) + self.robot.suffix)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.robot.record(
            trajectory, periods, path, lambda phase, part: self.progress(step, phase, part)
        )
        self._recordings[step] = path
