"""Forces that the described robot cannot have."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_identification.quality.force_size import described_force_defects, force_limit_defects

NAMES = ('a', 'b', 'c')
CONSTANTS = np.array([35.0, 35.0, 20.0])
TIME = np.linspace(0.0, 1.0, 300)
DESCRIBED = 10.0 + 5.0 * np.column_stack([np.sin(7 * TIME), np.cos(9 * TIME), np.sin(16 * TIME)])


def found(measured):
    defects = described_force_defects(measured, DESCRIBED, NAMES, CONSTANTS)
    return {each.joint: each.what for each in defects}


def noisy(measured, share=0.1):
    noise = np.random.default_rng(0).normal(size=measured.shape)
    return measured + share * measured.std(axis=0) * noise


@pytest.mark.parametrize('factors', [1.0, 0.3, 3.0, [0.5, 1.5, 2.5]])
def test_robots_that_are_not_quite_as_described_are_no_defect(factors) -> None:
    assert not found(noisy(factors * DESCRIBED + [3.0, -2.0, 0.0]))


def test_forces_of_another_shape_say_nothing() -> None:
    assert not found(100.0 * DESCRIBED**2 * np.sin(3 * TIME)[:, None])
    assert not found(noisy(50.0 * DESCRIBED, share=2.0))


def test_another_unit_is_named_by_its_factor() -> None:
    said = found(noisy(1000.0 * DESCRIBED))
    assert list(said) == list(NAMES)
    assert said['a'].startswith('they are 1e+03 times those of the description: another unit')


def test_currents_that_count_as_forces_are_named() -> None:
    said = found(noisy(DESCRIBED / CONSTANTS))
    assert said['c'].endswith('currents in A that count as forces?')


@pytest.mark.parametrize('signs', [(1, -1, 1), (-1, -1, -1)])
def test_opposite_signs_are_named(signs) -> None:
    said = found(noisy(signs * DESCRIBED))
    assert list(said) == [name for name, sign in zip(NAMES, signs, strict=True) if sign < 0]
    assert all('opposite sign' in text for text in said.values())


def test_exchanged_drives_are_named() -> None:
    assert found(noisy(DESCRIBED[:, [0, 2, 1]])) == {
        'b': 'they are those of c in the description',
        'c': 'they are those of b in the description',
    }


def test_a_dead_sensor_is_named_where_others_are_as_described() -> None:
    noise = 0.2 * np.random.default_rng(1).normal(size=len(TIME))
    measured = noisy(DESCRIBED)
    measured[:, 1] = 3.0 + noise
    said = found(measured)
    assert list(said) == ['b'] and said['b'].endswith('a dead sensor?')
    measured[:, 1] = 3.0 + 20.0 * noise  # forces, though others than described
    assert not found(measured)


def test_forces_far_beyond_the_limits() -> None:
    limit = np.array([6.0, 2.0, np.inf])
    (defect,) = force_limit_defects(DESCRIBED, NAMES, limit)
    assert defect.joint == 'b' and defect.figures['limits'] == pytest.approx(7.5, rel=0.01)
