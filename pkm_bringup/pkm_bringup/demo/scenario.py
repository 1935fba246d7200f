"""What the demo does, step by step, through the nodes of a running graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np

from pkm_bringup.nodes.robot_client import RobotClient
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import Trajectory, benchmark_circle
from pkm_identification import IdentificationResult, Validation, load, load_result, validate
from pkm_identification.arrays import Array
from pkm_identification.excitation.excitation_design import load_excitation

HIGH_GAINS = 2.0


class Knowledge(Enum):
    """What the controller's feedforward knows; the values name the runs."""

    NOTHING = 'no model'
    RIGID_BODY = 'rigid body'
    FULL = 'rigid body + friction'


@dataclass(frozen=True)
class DemoOptions:
    """Choices of a demo run.

    The servo turns the position sensors' noise into real forces, which only averaging over many
    periods removes.
    """

    output: Path  # folder for bags, models, pictures and logs; must not hold files yet
    robot: str = 'palida'
    excitation: str = ''  # file; the one shipped for the robot where empty
    estimator: str = 'gauss_markov'
    periods: int = 30  # of the excitation, recorded
    circle_periods: int = 3
    validation_periods: int = 15  # of the circles whose forces are predicted
    seed: int = 0  # of the simulated robot's noise


@dataclass(frozen=True)
class Identification:
    """One identification from an excitation."""

    bag: Path
    model_file: Path
    result: IdentificationResult
    truth: Array
    """Base parameters (r,) of the simulated robot."""

    @property
    def within_three(self) -> float:
        """Fraction of the parameters within three standard deviations of the truth."""
        off = np.abs(self.result.values - self.truth)
        return float(np.mean(off <= 3 * self.result.standard_deviation))


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
class Plant:
    """An identification of one plant, and its predictions of the circle and its mirror image."""

    identification: Identification
    circle: Validation
    mirrored: Validation


@dataclass(frozen=True)
class DemoResult:
    """Everything the demo measured."""

    modelled: Plant  # without the plant's effects that the model does not contain
    unmodelled: Plant  # with them
    tracking: Tracking
    high_gain_tracking: Tracking  # with gains twice as high
    bags: dict[str, Path]  # recordings of the circle by run


@dataclass
class Scenario:
    """The demo's steps in order.

    `restart_controller` takes a factor on the gains, `progress` a step's name, its phase and its
    fraction; `identified` is called with the first identification as soon as it is there.
    """

    client: RobotClient
    model: ClosedChainModel
    options: DemoOptions
    restart_controller: Callable[[float], None]
    progress: Callable[[str, str, float], None]
    identified: Callable[[Identification], None]

    def __post_init__(self) -> None:
        """Load the motions."""
        self._excitation = load_excitation(self.options.excitation or self.options.robot)
        self._circle = benchmark_circle(self.model)
        self._mirror = benchmark_circle(self.model, mirrored=True)
        self._bags: dict[str, Path] = {}

    def run(self) -> DemoResult:
        """Run everything; raises PkmError at the first step that fails."""
        client, full = self.client, Knowledge.FULL
        self.progress('start the nodes', 'waiting for the servers', 0.0)
        client.wait_until_ready()
        client.switch_unmodelled_effects(False)
        first = self._identify('excitation', 'model')
        self.identified(first)
        tracking, long = {}, self.options.validation_periods
        for knowledge in Knowledge:
            periods = long if knowledge is full else 0
            name = knowledge.value
            tracking[name] = self._drive(name, knowledge, first, self._circle, periods)
        circles = {name: self._bags[name] for name in tracking}
        modelled = self._predicted(first, circles[full.value], 'mirrored circle')
        client.switch_unmodelled_effects(True)
        second = self._identify('excitation with unmodelled effects', 'model_unmodelled')
        step = 'circle, unmodelled effects'
        self._drive(step, full, second, self._circle, long)
        unmodelled = self._predicted(
            second, self._bags[step], 'mirrored circle, unmodelled effects'
        )
        self.restart_controller(HIGH_GAINS)
        client.wait_until_ready()
        client.switch_unmodelled_effects(False)
        high = {}
        for knowledge in (Knowledge.NOTHING, full):
            step = f'{knowledge.value}, gains x {HIGH_GAINS:g}'
            high[knowledge.value] = self._drive(step, knowledge, first, self._circle)
        return DemoResult(modelled, unmodelled, Tracking(tracking), Tracking(high), circles)

    def _identify(self, step: str, model_name: str) -> Identification:
        """Excite without a model, record, identify."""
        self.client.remove_model()
        self._record(step, self._excitation, self.options.periods)
        model_file = self.options.output / f'{model_name}.yaml'
        self.progress(step, 'identifying', 1.0)
        self.client.identify(self._bags[step], self.options.estimator, model_file)
        result = load_result(model_file, self.model)
        truth = result.matrix @ self.model.nominal_parameters
        return Identification(self._bags[step], model_file, result, truth)

    def _drive(
        self,
        step: str,
        knowledge: Knowledge,
        identification: Identification,
        trajectory: Trajectory,
        periods: int = 0,
    ) -> Array:
        """Drive a trajectory with what is known of the robot; return RMS errors (n_a,)."""
        if knowledge is Knowledge.NOTHING:
            self.client.remove_model()
        else:
            friction = knowledge is Knowledge.FULL
            self.client.apply_model(identification.model_file, friction=friction)
        return self._record(step, trajectory, periods or self.options.circle_periods)

    def _predicted(self, identification: Identification, circle: Path, step: str) -> Plant:
        """Drive the mirrored circle; predict the forces of both circles."""
        long = self.options.validation_periods
        self._drive(step, Knowledge.FULL, identification, self._mirror, long)
        validations = (
            validate(load(bag), identification.result, self.model)
            for bag in (circle, self._bags[step])
        )
        return Plant(identification, *validations)

    def _record(self, step: str, trajectory: Trajectory, periods: int) -> Array:
        words = ''.join(c if c.isalnum() else ' ' for c in step).split()
        bag = self.options.output / 'bags' / '_'.join(words)
        bag.parent.mkdir(parents=True, exist_ok=True)
        result = self.client.excite(
            trajectory, periods, bag, lambda phase, part: self.progress(step, phase, part)
        )
        self._bags[step] = bag
        return np.array(result.quality.tracking_rms)
