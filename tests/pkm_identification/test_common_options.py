"""Every registered estimator: what all have in common, honoured or refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import pkm_description
from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import FourierTrajectory
from pkm_identification import identify, load_result
from pkm_identification.datasets import Recording
from pkm_identification.estimators.estimator_options import estimators
from pkm_identification.result.result import IdentificationResult

RATE, PERIOD, PERIODS = 100.0, 2.0, 6  # [Hz], [s]
FORCE_NOISE, POSITION_NOISE = 0.05, 2e-5  # [N m], [rad]
NEEDED: dict[str, dict[str, Any]] = {
    'ellipsoid': {'force_bound': 5 * FORCE_NOISE}
}  # options without a default
COMMON = {
    'estimate': 'estimate',
    'fixed exactly': 'fixed',
    'fixed within': 'fixed',
    'fixed nominal': 'fixed',
    'prior': 'prior',
    'earlier result': 'prior',
    'two datasets': 'dataset',
    'not shared': 'shared',
    'not reduced': 'reduced',
}
REFUSED = {
    'staged': ('fixed nominal',),
    'ellipsoid': ('fixed within', 'prior', 'earlier result'),
}  # what an estimator cannot use
SETS = ('ellipsoid',)  # whose standard deviations are sizes of sets, not of errors
FIXED = 'left_arm.Izz'
KNOWN = 'left_motor.coulomb'


@dataclass(frozen=True)
class Bench:
    """A robot, recordings of it and results so far."""

    model: ClosedChainModel
    record: Callable[..., Recording]
    truth: dict[str, float]
    plain: dict[str, IdentificationResult]
    needed: dict[str, dict[str, Any]]

    def identify(self, estimator: str, data: Any = None, **options: Any) -> IdentificationResult:
        data = self.record(0) if data is None else data
        return identify(data, self.model, estimator, **self.needed.get(estimator, {}), **options)

    def result(self, estimator: str) -> IdentificationResult:
        if estimator not in self.plain:
            self.plain[estimator] = self.identify(estimator)
        return self.plain[estimator]


@pytest.fixture(scope='module')
def bench() -> Bench:
    """A planar robot with loops, parts of one design and parameters that are zero by symmetry."""
    model = ClosedChainModel(pkm_description.load('five_bar'))
    time = np.arange(round(PERIOD * RATE)) / RATE
    w = 2 * np.pi / PERIOD * np.array([1.0, 2.0, 3.0])
    s, c = np.sin(np.multiply.outer(time, w)), np.cos(np.multiply.outer(time, w))
    sine = np.array([[0.4, 0.15, 0.06], [0.35, -0.2, 0.05]])
    cosine = np.array([[0.1, -0.15, 0.05], [-0.25, 0.1, 0.06]])
    q = model.home_actuators + s @ sine.T + c @ cosine.T
    qd = (c * w) @ sine.T - (s * w) @ cosine.T
    qdd = -(s * w**2) @ sine.T - (c * w**2) @ cosine.T
    forces = model.inverse_dynamics(model.motion_from_actuators(q, qd, qdd))
    mixing = np.linalg.cholesky([[1.0, 0.5], [0.5, 1.0]])

    def record(seed: int) -> Recording:
        random = np.random.default_rng(seed)
        shape = (PERIODS * len(time), 2)
        return Recording.from_arrays(
            np.arange(shape[0]) / RATE,
            tuple(model.actuated_joints),
            np.tile(q, (PERIODS, 1)) + POSITION_NOISE * random.normal(size=shape) @ mixing.T,
            np.tile(forces, (PERIODS, 1)) + FORCE_NOISE * random.normal(size=shape) @ mixing.T,
            period=PERIOD,
        )

    base = model.base_parameters(shared=True, reduced=True)
    nominal = base.matrix @ np.asarray(model.nominal_parameters)
    # a servo so stiff that the robot is where it should be
    reference = FourierTrajectory(
        PERIOD, model.home_actuators, sine, cosine, 'actuators', model.actuated_joints
    )
    stiff = {'bandwidth': 1000.0, 'velocity_cutoff': 1e4, 'control_rate': 1e6, 'control_delay': 0.0}
    needed = NEEDED | {'output_error': {'reference': reference, **stiff}}
    return Bench(model, record, dict(zip(base.names, nominal, strict=True)), {}, needed)


def of(result: IdentificationResult, name: str) -> tuple[float, float]:
    """Value and standard deviation of a parameter."""
    i = list(result.names).index(name)
    return float(result.values[i]), float(result.standard_deviation[i])


def check_estimate(bench: Bench, estimator: str) -> None:
    result = bench.identify(estimator, estimate=['left_motor.*', '*_arm.*'])
    free = {FIXED, 'left_motor.coulomb', 'left_motor.viscous'}
    for name, nominal in bench.truth.items():
        value, deviation = of(result, name)
        assert (deviation > 0) == (name in free)
        assert value == pytest.approx(nominal, rel=0.2 if name in free else 1e-12)
    assert set(result.diagnostics['fixed']) == set(bench.truth) - free


def check_fixed_exactly(bench: Bench, estimator: str) -> None:
    held = 1.1 * bench.truth[FIXED]
    result = bench.identify(estimator, fixed={FIXED: held})
    assert of(result, FIXED) == (held, 0.0)
    assert not result.covariance[list(result.names).index(FIXED)].any()
    free = bench.result(estimator)  # a wrong inertia moves the one that comes with it
    moved = of(result, 'left_forearm.Izz')[0] - of(free, 'left_forearm.Izz')[0]
    assert abs(moved) > 3 * of(bench.result('gauss_markov'), 'left_forearm.Izz')[1]


def check_fixed_within(bench: Bench, estimator: str) -> None:
    truth, spread = bench.truth[FIXED], 0.1 * bench.truth[FIXED]
    exact = bench.identify(estimator, fixed={FIXED: truth})
    result = bench.identify(estimator, fixed={FIXED: (truth, spread)})
    np.testing.assert_allclose(of(result, FIXED), (truth, spread), rtol=1e-9)
    wider = result.standard_deviation - exact.standard_deviation
    assert (wider > -1e-9 * result.standard_deviation).all()
    assert of(result, 'left_forearm.Izz')[1] > 1.5 * of(exact, 'left_forearm.Izz')[1]


def check_fixed_nominal(bench: Bench, estimator: str) -> None:
    result = bench.identify(estimator, fixed={'*_motor.*': None})
    for name in ('left_motor.coulomb', 'left_motor.viscous'):
        assert of(result, name) == (pytest.approx(bench.truth[name]), 0.0)


def check_prior(bench: Bench, estimator: str) -> None:
    free = bench.result(estimator)
    value, deviation = of(free, KNOWN)
    believed, sure = value + 2 * deviation, 0.1 * deviation
    result = bench.identify(estimator, prior={KNOWN: (believed, sure)})
    assert abs(of(result, KNOWN)[0] - believed) < 0.5 * deviation
    assert of(result, KNOWN)[1] < 0.5 * deviation


def check_earlier_result(bench: Bench, estimator: str) -> None:
    earlier = bench.result('gauss_markov')
    result = bench.identify(estimator, bench.record(1), prior=earlier)
    alone = bench.identify(estimator, bench.record(1))
    smaller = result.standard_deviation / alone.standard_deviation
    assert np.median(smaller) < 0.9


def check_two_datasets(bench: Bench, estimator: str) -> None:
    result = bench.identify(estimator, [bench.record(0), bench.record(1)])
    single = bench.result(estimator)
    assert len(result.diagnostics['signals']) == 2
    smaller = result.standard_deviation / single.standard_deviation
    assert np.median(smaller) < (1.0 if estimator in SETS else 0.9)


def check_not_shared(bench: Bench, estimator: str) -> None:
    check_fields(bench, bench.identify(estimator, shared=False), 9)


def check_not_reduced(bench: Bench, estimator: str) -> None:
    check_fields(bench, bench.identify(estimator, reduced=False), 9)


CHECKS: dict[str, Callable[[Bench, str], None]] = {
    name: globals()['check_' + name.replace(' ', '_')] for name in COMMON
}


def check_fields(bench: Bench, result: IdentificationResult, size: int) -> None:
    """What every result has, whatever made it."""
    assert len(result.names) == len(result.values) == len(result.units) == size
    assert len(result.expressions) == size and set(result.units) <= {
        'kg',
        'kg m',
        'kg m^2',
        'N m',
        'N m s/rad',
    }
    assert np.isfinite(result.values).all()
    covariance = result.covariance
    known = np.isfinite(np.diag(covariance))
    np.testing.assert_array_equal(covariance, covariance.T)
    deviation = np.sqrt(np.diag(covariance)[known])
    correlation = covariance[np.ix_(known, known)] / np.outer(deviation, deviation)
    assert np.linalg.eigvalsh(correlation)[0] > -1e-9
    names = np.array(result.names)
    assert set(names[~known]) == set(result.diagnostics['undetermined'])
    for figure in ('condition_number', 'residual_variance_ratio', 'noise_from', 'signals'):
        assert figure in result.diagnostics
    assert result.residual_rms.shape == (2,) and (result.residual_rms > 0).all()
    assert result.provenance['versions'] and 'options' in result.provenance


@pytest.mark.parametrize('estimator', estimators())
def test_result(bench, estimator, tmp_path):
    """Within its own uncertainty of the truth, and the same when read back."""
    result = bench.result(estimator)
    check_fields(bench, result, 6)
    assert result.estimator == estimator
    truth = np.array([bench.truth[name] for name in result.names])
    off = (result.values - truth) / result.standard_deviation
    assert np.sqrt(np.mean(off[np.isfinite(off)] ** 2)) < 2.5
    time = np.linspace(0.0, 1.0, 5)
    states = [f(np.outer(time, [3.0, 5.0])) * 0.1 for f in (np.sin, np.cos, np.sin)]
    motion = bench.model.motion_from_actuators(bench.model.home_actuators + states[0], *states[1:])
    forces, deviation = result.predict(motion, standard_deviation=True)
    reference = bench.model.inverse_dynamics(motion)
    assert forces.shape == deviation.shape == (5, 2)
    assert np.abs(forces - reference).max() < 0.1 * np.abs(reference).max()
    loaded = load_result(result.save(tmp_path / 'model.yaml'), bench.model)
    np.testing.assert_allclose(loaded.values, result.values, rtol=1e-12)
    np.testing.assert_allclose(loaded.covariance, result.covariance, rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(loaded.predict(motion), forces, rtol=1e-9, atol=1e-12)
    assert loaded.names == result.names and loaded.estimator == estimator
    assert loaded.is_physical == result.is_physical


@pytest.mark.parametrize('estimator', estimators())
@pytest.mark.parametrize('option', COMMON)
def test_common_option(bench, estimator, option):
    """Honoured, or refused by one sentence that says what and by whom."""
    if option not in REFUSED.get(estimator, ()):
        CHECKS[option](bench, estimator)
        return
    with pytest.raises(EstimationError) as refusal:
        CHECKS[option](bench, estimator)
    text = str(refusal.value)
    assert f"'{estimator}'" in text and COMMON[option] in text
    assert '\n' not in text and len(text) < 250


LIMITED = ('ellipsoid', 'feasible', 'nonlinear_friction')  # refused, or held back by limits
FURTHER = (
    ('ekf', {'process': 0.01}),
    ('ekf', {'measurement': 'energy'}),
    ('ukf', {'measurement': 'energy', 'process': 0.01}),
    ('recursive', {'forgetting': 0.99}),
    ('recursive', {'huber': 2.0}),
    ('staged', {'last': '1-B'}),
    ('staged', {'last': '2-B'}),
    ('staged', {'last': '2-B', 'inner': 'ukf'}),
    ('feasible', {'nominal_spread': 0.3}),
)


@pytest.mark.parametrize(
    ('estimator', 'options'),
    [*((name, {}) for name in estimators() if name not in LIMITED), *FURTHER],
)
def test_a_wrong_fixed_value_moves_the_others_as_the_covariance_says(bench, estimator, options):
    """By estimates with another fixed value, with a prior that is uncertain too."""
    truth, spread = bench.truth[FIXED], 0.02 * bench.truth[FIXED]
    few = (bench.truth[KNOWN], 0.01 * bench.truth[KNOWN])

    def held_at(value: float) -> IdentificationResult:
        held = {FIXED: (value, spread)}
        return bench.identify(estimator, fixed=held, prior={KNOWN: few}, **options)

    least, middle, most = (held_at(truth + step * spread) for step in (-0.3, 0.0, 0.3))
    i = list(middle.names).index(FIXED)
    expected = middle.covariance[:, i] / spread  # for one standard deviation
    found = (most.values - least.values) / 0.6
    free = np.arange(len(found)) != i
    deviation = middle.standard_deviation[free]
    np.testing.assert_allclose(found[free] / deviation, expected[free] / deviation, atol=0.1)


@pytest.mark.parametrize('estimator', estimators())
def test_unknown_option(bench, estimator):
    with pytest.raises(EstimationError, match=f"option 'wieght' of estimator '{estimator}'; valid"):
        bench.identify(estimator, wieght=1.0)
