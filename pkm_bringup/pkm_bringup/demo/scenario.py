"""What the demo does, step by step, through the nodes of a running graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import Trajectory, benchmark_circle
from pkm_identification import IdentificationResult, Validation, load, load_result, validate
from pkm_identification.excitation.shipped import load_excitation

Floats = NDArray[np.float64]
Progress = Callable[[str, float], None]

NO_MODEL, RIGID_BODY, FULL = 'no model', 'rigid body', 'rigid body + friction'
HIGH_GAINS = 2.0


class Client(Protocol):
    """What the scenario asks of the graph; `RobotClient` in `nodes`."""

    def wait_until_ready(self) -> None:
        """Wait for all servers."""

    def excite(self, trajectory: Trajectory, periods: int, bag: Path, progress: Progress) -> Any:
        """Run and record."""

    def identify(self, data: Path, estimator: str, output: Path) -> Any:
        """Identify and write a model file."""

    def apply_model(self, model: Path, friction: bool = True) -> None:
        """Give the controller a model."""

    def remove_model(self) -> None:
        """Feedback alone."""

    def switch_unmodelled_effects(self, on: bool) -> None:
        """Switch the plant's effects that the model lacks."""


@dataclass(frozen=True)
class DemoOptions:
    """Choices of a demo run.

    Attributes
    ----------
    output : Path
        Folder for bags, models, pictures and logs; must not hold files yet.
    robot : str
    excitation : str
        File of the excitation; the one shipped for the robot where empty.
    estimator : str
    periods, circle_periods, validation_periods : int
        Recorded whole periods of the excitation, of each circle, and of those circles
        whose forces are predicted: the servo turns the position sensors' noise into real
        forces, which only averaging removes.
    seed : int
        Of the simulated robot's noise.
    """

    output: Path
    robot: str = 'palida'
    excitation: str = ''
    estimator: str = 'gauss_markov'
    periods: int = 30
    circle_periods: int = 3
    validation_periods: int = 15
    seed: int = 0


@dataclass
class Identification:
    """One identification and what it is worth on the circle and its mirror image."""

    bag: Path
    model_file: Path
    result: IdentificationResult
    circle: Validation | None = None
    mirrored: Validation | None = None


@dataclass
class DemoResult:
    """Everything the demo measured.

    Attributes
    ----------
    modelled, unmodelled : Identification
        Without and with the plant's effects that the model does not contain.
    tracking : dict
        Run name to RMS position errors (n_a,) [m, rad] of the circle.
    high_gain_tracking : dict
        The same with gains twice as high.
    bags : dict
        Run name to recording of the circle.
    truth : (r,)
        Base parameters of the simulated robot.
    """

    modelled: Identification
    unmodelled: Identification
    tracking: dict[str, Floats]
    high_gain_tracking: dict[str, Floats]
    bags: dict[str, Path]
    truth: Floats
    limits: dict[str, float] = field(default_factory=dict)

    @property
    def factors(self) -> dict[str, float]:
        """How many times smaller the error is than without a model."""
        return _factors(self.tracking)

    @property
    def high_gain_factors(self) -> dict[str, float]:
        """The same with gains twice as high."""
        return _factors(self.high_gain_tracking)

    @property
    def within_three(self) -> float:
        """Fraction of the parameters within three standard deviations of the truth."""
        result = self.modelled.result
        return float(np.mean(np.abs(result.values - self.truth) <= 3 * result.standard_deviation))


class Scenario:
    """The demo's steps in order.

    Parameters
    ----------
    client : Client
    model : ClosedChainModel
    options : DemoOptions
    restart_controller : callable
        Restarts the controller with a factor on its gains.
    progress : callable
        Called with the step's name, its phase and its fraction.
    """

    def __init__(
        self,
        client: Client,
        model: ClosedChainModel,
        options: DemoOptions,
        restart_controller: Callable[[float], None],
        progress: Callable[[str, str, float], None],
    ) -> None:
        self._client = client
        self._model = model
        self._options = options
        self._restart_controller = restart_controller
        self._progress = progress
        self._excitation = load_excitation(options.excitation or options.robot)
        self._circle = benchmark_circle(model)
        self._mirror = benchmark_circle(model, mirrored=True)

    def run(self) -> DemoResult:
        """Run everything; raises PkmError at the first step that fails."""
        client, model = self._client, self._model
        self._progress('start the nodes', 'waiting for the servers', 0.0)
        client.wait_until_ready()
        client.switch_unmodelled_effects(False)
        modelled = self._identify('excitation', 'model')
        long = self._options.validation_periods
        tracking: dict[str, Floats] = {}
        bags: dict[str, Path] = {}
        for name in (NO_MODEL, RIGID_BODY, FULL):
            periods = long if name == FULL else 0
            tracking[name], bags[name] = self._drive(
                name, modelled.model_file, self._circle, periods
            )
        modelled.circle = self._validate(bags[FULL], modelled)
        _, mirror = self._drive('mirrored circle', modelled.model_file, self._mirror, long)
        modelled.mirrored = self._validate(mirror, modelled)
        client.switch_unmodelled_effects(True)
        unmodelled = self._identify('excitation with unmodelled effects', 'model_unmodelled')
        _, bag = self._drive(
            'circle, unmodelled effects', unmodelled.model_file, self._circle, long
        )
        unmodelled.circle = self._validate(bag, unmodelled)
        _, bag = self._drive(
            'mirrored circle, unmodelled effects', unmodelled.model_file, self._mirror, long
        )
        unmodelled.mirrored = self._validate(bag, unmodelled)
        high: dict[str, Floats] = {}
        self._restart_controller(HIGH_GAINS)
        client.wait_until_ready()
        client.switch_unmodelled_effects(False)
        for name in (NO_MODEL, FULL):
            label = f'{name}, gains x {HIGH_GAINS:g}'
            high[name], _ = self._drive(label, modelled.model_file, self._circle)
        truth = modelled.result.matrix @ model.nominal_parameters
        return DemoResult(modelled, unmodelled, tracking, high, bags, truth)

    def _identify(self, step: str, model_name: str) -> Identification:
        """Excite without a model, record, identify."""
        self._client.remove_model()
        bag = self._options.output / 'bags' / _slug(step)
        self._record(step, self._excitation, self._options.periods, bag)
        model_file = self._options.output / f'{model_name}.yaml'
        self._progress(step, 'identifying', 1.0)
        self._client.identify(bag, self._options.estimator, model_file)
        return Identification(bag, model_file, load_result(model_file, self._model))

    def _drive(
        self, step: str, model_file: Path, trajectory: Trajectory, periods: int = 0
    ) -> tuple[Floats, Path]:
        """Drive a trajectory with the model that the step's name tells; return RMS errors, bag."""
        if step.startswith(NO_MODEL):
            self._client.remove_model()
        else:
            friction = step != RIGID_BODY
            self._client.apply_model(model_file, friction=friction)
        bag = self._options.output / 'bags' / _slug(step)
        result = self._record(step, trajectory, periods or self._options.circle_periods, bag)
        return np.array(result.quality.tracking_rms), bag

    def _record(self, step: str, trajectory: Trajectory, periods: int, bag: Path) -> Any:
        bag.parent.mkdir(parents=True, exist_ok=True)
        return self._client.excite(
            trajectory, periods, bag, lambda phase, part: self._progress(step, phase, part)
        )

    def _validate(self, bag: Path, identification: Identification) -> Validation:
        return validate(load(bag), identification.result, self._model)


def _factors(tracking: dict[str, Floats]) -> dict[str, float]:
    reference = _overall(tracking[NO_MODEL])
    return {name: reference / _overall(rms) for name, rms in tracking.items()}


def _overall(rms: Floats) -> float:
    return float(np.sqrt(np.mean(rms**2)))


def _slug(step: str) -> str:
    kept = ''.join(c if c.isalnum() else '_' for c in step)
    return '_'.join(part for part in kept.split('_') if part)
