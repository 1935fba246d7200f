"""Workspaces in x, y and yaw, against the closed form of a planar 3-RRR."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pkm_description
from pkm_description import load
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.analysis.workspace import is_planar, workspace

ROBOT = Path(pkm_description.__file__).parent / 'examples' / 'planar_rrr.urdf.xacro'
BASE, TOP, CRANK, COUPLER = 0.35, 0.1, 0.2, 0.24  # [m] of its URDF
MOTOR, ELBOW, BOX = (-0.5, 2.0), (-2.6, -0.3), 0.08  # [rad], [rad], [m]


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(load(ROBOT))


def _closed_form(x, y, yaw):
    """Whether poses (N,) are within all limits, and the determinant of the parallel Jacobian."""
    good, rows = np.ones(len(x), dtype=bool), []
    for angle in 2.0 * np.pi * np.arange(3) / 3:
        arm = TOP * np.array([np.cos(yaw + angle), np.sin(yaw + angle)])
        way = np.array([x, y]) + arm - BASE * np.array([[np.cos(angle)], [np.sin(angle)]])
        cosine = (np.sum(way**2, axis=0) - CRANK**2 - COUPLER**2) / (2.0 * CRANK * COUPLER)
        good &= np.abs(cosine) < 1.0
        elbow = -np.arccos(np.clip(cosine, -1.0, 1.0))
        bent = np.arctan2(COUPLER * np.sin(elbow), CRANK + COUPLER * np.cos(elbow))
        crank = np.arctan2(way[1], way[0]) - bent
        motor = np.angle(np.exp(1j * (crank - angle - np.pi)))
        for value, (low, high) in ((motor, MOTOR), (elbow, ELBOW)):
            good &= (low <= value) & (value <= high)
        along = np.array([np.cos(crank + elbow), np.sin(crank + elbow)])
        rows.append(np.array([*along, arm[0] * along[1] - arm[1] * along[0]]))
    return good, np.linalg.det(np.moveaxis(np.array(rows), 2, 0))


def test_the_volume_in_x_y_and_yaw_is_that_of_the_closed_form(model):
    found = workspace(model, 4000, seed=2, singularity_limit=0.0)
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-BOX, BOX, (2, 200_000))
    yaw = rng.uniform(-np.pi, np.pi, 200_000)
    good, determinant = _closed_form(x, y, yaw)
    home = _closed_form(*np.zeros((3, 1)))[1]
    good &= determinant * home > 0.0  # the assembly of home
    expected = np.mean(good) * (2.0 * BOX) ** 2 * 2.0 * np.pi
    assert found.coordinates == 'actuators'
    # four deviations: one chance in 16 000, and the seeds are fixed
    assert abs(found.volume - expected) < 4.0 * found.volume_deviation
    assert found.volume_deviation < 0.06 * found.volume
    least, most = found.reached_yaw
    assert yaw[good].min() - 0.01 < least < most < yaw[good].max() + 0.01


def test_what_is_planar(model):
    assert is_planar(model)
    for name in ('delta', 'five_bar', 'palida', 'rps_upv'):
        assert not is_planar(ClosedChainModel(load(name)))
    assert workspace(ClosedChainModel(load('five_bar')), 20).reached_yaw is None
