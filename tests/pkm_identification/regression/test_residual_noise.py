"""Noise from residuals: of axes that rest, of runs that show little, and of runs by themselves."""

import numpy as np
import pytest
from urdf_builder import control, inertial, joint, robot

import pkm_description
from pkm_dynamics import ClosedChainModel
from pkm_identification import Recording, identify
from pkm_identification.result.verdict import Grade, Limit, verdict_of

JOINTS = ('lift_1', 'lift_2')
MASSES, FRICTION = (4.0, 7.0), (5.0, 40.0)  # [kg], Coulomb [N] and viscous [N s/m]
GRAVITY = 9.81
FILTERED = {'method': 'filter', 'cutoff': 5.0}


@pytest.fixture(scope='module')
def lifts():
    """Two vertical screws that have nothing to do with each other."""
    parts = ['<link name="base_link"/>']
    for name, mass in zip(JOINTS, MASSES, strict=True):
        body, limit = inertial(mass, (0, 0, 0), 0.1 * np.eye(3)), (-1, 1, 2, 500)
        parts += [
            f'<link name="nut_of_{name}">{body}</link>',
            joint(
                name,
                'prismatic',
                'base_link',
                f'nut_of_{name}',
                (0, 0, 0),
                (0, 0, 0),
                (0, 0, 1),
                limit,
                '<dynamics damping="1" friction="1"/>',
            ),
        ]
    text = robot('lifts', [*parts, control(JOINTS)])
    sidecar = 'platform: nut_of_lift_1\nhome: {joints: {lift_1: 0, lift_2: 0}}\n'
    return ClosedChainModel(pkm_description.loads(text, sidecar))


def recorded(moving, held=(), noise=1.0, seed=0, seconds=20.0):
    """Sines of some of the lifts; the others rest under a force that does not change."""
    random = np.random.default_rng(seed)
    time = np.arange(round(200 * seconds)) / 200
    positions, forces = np.zeros((2, len(time), 2))
    for k in moving:
        frequencies = 2 * np.pi * np.array([0.31, 0.47, 0.83]) * (1 + 0.1 * k)
        waves = 0.04 * np.sin(frequencies * time[:, None]).T / np.array([[1], [1.5], [3]])
        positions[:, k] = waves.sum(axis=0)
        rate = 0.04 * (frequencies * np.cos(frequencies * time[:, None]) / [1, 1.5, 3]).sum(axis=1)
        bent = -(frequencies**2 @ waves)
        forces[:, k] = MASSES[k] * (GRAVITY + bent) + noise * random.normal(size=len(time))
        forces[:, k] += FRICTION[0] * np.tanh(rate / 0.002) + FRICTION[1] * rate
    for k, force in held:
        forces[:, k] = force
    return Recording.from_arrays(time, JOINTS, positions, forces)


@pytest.mark.parametrize('estimator', ['ls', 'wls', 'gauss_markov', 'irls'])
def test_an_axis_at_rest_under_a_constant_force_hides_nothing_of_the_other(lifts, estimator):
    result = identify(recorded([0], held=[(1, 61.3)]), lifts, estimator, **FILTERED)
    for name, true in zip(('nut_of_lift_1.m', 'lift_1.viscous'), (4.0, 40.0), strict=True):
        index = result.names.index(name)
        assert abs(result.values[index] - true) < 5 * result.standard_deviation[index] + 0.01 * true
        assert result.standard_deviation[index] < 0.05 * true
    held = result.names.index('nut_of_lift_2.m')  # what holds it may be friction, up to all
    expected = result.values[held] / np.sqrt(3)
    assert result.standard_deviation[held] == pytest.approx(expected, rel=0.01)
    found = verdict_of(result)
    assert found.limit is Limit.EXCITATION and found.grade is Grade.UNPROVEN
    assert found.doubts[0].startswith('lift_2 rest throughout')


@pytest.mark.parametrize('estimator', ['wls', 'gauss_markov', 'irls'])
def test_what_holds_an_axis_at_rest_does_not_weigh_more_than_its_motion(lifts, estimator):
    """Friction takes 12 N of the weight of the second lift off its drive while it rests."""
    held = MASSES[1] * GRAVITY - 12.0
    runs = [recorded([0], held=[(1, held)]), recorded([1], held=[(0, MASSES[0] * GRAVITY)], seed=1)]
    result = identify(runs, lifts, estimator, **FILTERED)
    mass = result.values[result.names.index('nut_of_lift_2.m')]
    assert abs(mass - MASSES[1]) < 0.65 * 12.0 / GRAVITY  # by the rest alone: 1.0 of that


@pytest.mark.parametrize('loud', [10.0, 30.0])
@pytest.mark.parametrize('cutoff', [5.0, 20.0])
def test_a_run_with_much_noise_takes_nothing_from_a_quiet_one(lifts, cutoff, loud):
    """Beside the quiet run alone, with noise that is drawn once.

    Of 160 draws none moves an estimate by its deviation, five change a deviation by more.
    """
    quiet, noisy = recorded([0, 1], seed=11), recorded([0, 1], noise=loud, seed=12)
    options = {'method': 'filter', 'cutoff': cutoff}
    alone, both = (identify(runs, lifts, 'wls', **options) for runs in (quiet, [quiet, noisy]))
    apart = np.abs(both.values - alone.values) / alone.standard_deviation
    assert apart.max() < 1.0
    ratio = both.standard_deviation / alone.standard_deviation
    assert 0.7 < ratio.min() and ratio.max() < 1.3
