"""Force constants: what is taken, what contradicts what, and efforts beside currents."""

from __future__ import annotations

import numpy as np
import pytest

from pkm_description.errors import DatasetError
from pkm_identification.datasets.units import (
    MissingForceConstantError,
    check_efforts_agree,
    constants_of,
    parsed_constants,
)

NAMES = ['left', 'right']


def test_constants_with_and_without_deviations():
    given = {'right': (25.0, 0.5), 'left': -20, 'idle': [3.0], 'sure': (4.0, 0.0)}
    constants, deviations = parsed_constants(given, [*NAMES, 'idle', 'sure'], 'data')
    assert constants == {'right': 25.0, 'left': -20.0, 'idle': 3.0, 'sure': 4.0}
    assert deviations == {'right': 0.5, 'sure': 0.0}


@pytest.mark.parametrize(
    'value',
    [0.0, (0.0, 1.0), np.nan, np.inf, (20.0, np.nan), (20.0, np.inf), (1.0, 2.0, 3.0), 'x', None]
    + [[], [[20.0, 1.0]], {'a': 1.0}],
)
def test_what_is_no_constant(value):
    with pytest.raises(DatasetError, match=r"^data: force constant of 'left' must be a number "):
        parsed_constants({'left': value}, NAMES, 'data')


def test_constants_of_nobody_and_negative_deviations():
    with pytest.raises(DatasetError, match=r"unknown joint 'lift'; joints are left, right$"):
        parsed_constants({'lift': 20.0}, NAMES, 'data')
    with pytest.raises(DatasetError, match=r"constant of 'left' is -0.1; it must not be negative"):
        parsed_constants({'left': (20.0, -0.1)}, NAMES, 'data')


def test_recorded_constants_count_before_described_ones():
    described = [20.0, np.nan]
    assert constants_of(NAMES, {}, {}, [20.0, -25.0], 'data').tolist() == [20.0, -25.0]
    found = constants_of(NAMES, {'right': -7.0, 'idle': 1.0}, {}, described, 'data')
    assert found.tolist() == [20.0, -7.0]
    found = constants_of(NAMES, {'right': 7.0, 'left': 30.0}, {}, described, 'data', check=False)
    assert found.tolist() == [30.0, 7.0]


@pytest.mark.parametrize('sign', [1.0, -1.0])
@pytest.mark.parametrize(
    ('deviation', 'off', 'agrees'),
    [
        (0.0, 0.0, True),
        (0.0, 1.9e-5, True),  # a millionth of the described 20 N/A
        (0.0, 2.1e-5, False),
        (0.5, 1.49, True),  # three standard deviations
        (0.5, 1.51, False),
    ],
)
def test_constants_that_contradict_the_description(sign, deviation, off, agrees):
    for own in (20.0 + off, 20.0 - off):
        recorded, described = {'right': sign * own}, [7.0, sign * 20.0]
        arguments = (NAMES, recorded, {'right': deviation}, described, 'data')
        if agrees:
            assert constants_of(*arguments).tolist() == [7.0, sign * own]
            continue
        with pytest.raises(
            DatasetError, match=r"constant of 'right' is .* in here and .* in there;"
        ):
            constants_of(*arguments, places=('here', 'there'))
        assert constants_of(*arguments, check=False).tolist() == [7.0, sign * own]


def test_deviations_are_those_of_the_same_joint():
    with pytest.raises(DatasetError, match="'right' is 26 in the recording and 25 in the desc"):
        constants_of(NAMES, {'right': 26.0}, {'left': 9.0}, [20.0, 25.0], 'data')


def test_missing_constants_and_joints_without_a_drive():
    with pytest.raises(
        MissingForceConstantError, match=r"^data: currents of 'right' cannot become"
    ):
        constants_of(NAMES, {}, {}, [20.0, np.nan], 'data', free=['left'])
    free = constants_of(NAMES, {}, {}, [20.0, np.nan], 'data', free=['left', 'right'])
    assert free.tolist() == [20.0, 1.0]
    assert constants_of(NAMES, {'right': 3.0}, {}, [20.0, np.nan], 'data', free=NAMES)[1] == 3.0


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('size', [1.0, 1e-3])
@pytest.mark.parametrize(
    ('factor', 'agrees'), [(1.49, True), (1.51, False), (1 / 1.49, True), (1 / 1.51, False)]
)
def test_efforts_and_currents_of_another_size(name, size, factor, agrees):
    converted = size * np.random.default_rng(0).normal(size=(50, 2))
    efforts = np.array(converted)
    efforts[:, NAMES.index(name)] *= factor
    if agrees:
        check_efforts_agree(NAMES, efforts, converted, 'data')
        return
    rms = np.sqrt(np.mean(efforts[:, NAMES.index(name)] ** 2))
    with pytest.raises(DatasetError, match=rf"of '{name}' \(rms {rms:.4g}\) .* disagree; one"):
        check_efforts_agree(NAMES, efforts, converted, 'data')


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize(('correlation', 'agrees'), [(0.3, True), (-0.45, True), (-0.55, False)])
def test_efforts_and_currents_of_opposite_signs(name, correlation, agrees):
    """Scattered efforts of a small motion may correlate little, but not against the currents."""
    efforts = 30.0 * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    own, other = NAMES.index(name), 1 - NAMES.index(name)
    converted = np.array(efforts)
    rest = np.sqrt(1 - correlation**2)
    converted[:, own] = 1.2 * (correlation * efforts[:, own] + rest * efforts[:, other])
    if agrees:
        check_efforts_agree(NAMES, efforts, converted, 'data')
        return
    with pytest.raises(DatasetError, match=rf"^data: efforts of '{name}' and .* opposite signs"):
        check_efforts_agree(NAMES, efforts, converted, 'data')


def test_a_joint_without_any_force_agrees():
    nothing = np.zeros((10, 2))
    check_efforts_agree(NAMES, nothing, nothing, 'data')
