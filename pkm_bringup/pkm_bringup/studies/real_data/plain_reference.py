"""A plain identification to compare with: what a page of code on Pinocchio's regressor reaches.

Even stamps, a Butterworth filter of order 4 without phase at a fixed cutoff on positions and
forces, central differences, the regressor of Pinocchio with Coulomb and viscous friction, base
parameters by a QR decomposition with pivoting [Gautier 1991], least squares weighted by the
residuals of each axis. Only for arms without loops whose axes all have a drive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import qr

from pkm_bringup.studies.real_data.real_logs import EvenLog, RealLog
from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording

CUTOFF = 10.0  # [Hz] the usual choice for arms
WIDEST = 0.2  # of the sampling rate, where that is low
ROWS = 10.0  # rows that are kept, in cutoffs: the filtered signals have no more in them
RANK = 1e-8  # of the largest diagonal element of R: what is below depends on other columns


class PlainReference:
    """Weighted least squares on Pinocchio's regressor."""

    def __init__(self, log: RealLog) -> None:
        try:
            import pinocchio
        except ImportError as error:
            raise EstimationError(
                'the plain reference needs Pinocchio (pip install pin), which is not installed'
            ) from error
        description = log.model.description
        if description.constraints or description.free_joints:
            raise EstimationError('the plain reference is for arms without loops and free joints')
        self._pin: Any = pinocchio
        self._model = with_joints(pinocchio, description.urdf, log.model.actuated_joints)
        self._model.gravity.linear = np.array(description.gravity)
        self._data = self._model.createData()
        joints = [self._model.getJointId(name) for name in log.model.actuated_joints]
        self._columns = np.array([self._model.idx_vs[joint] for joint in joints])
        self._robot = log.model
        self._base: Array = np.zeros(0)  # columns of the base parameters
        self._values: Array = np.zeros(0)

    def fit(self, recordings: Sequence[Recording]) -> None:
        """Estimate from recordings."""
        parts = [self._rows(each) for each in recordings]
        regressor, forces = (
            np.concatenate([part[k] for part in parts]) for k in (1, 2)
        )  # (N, n_a, p), (N, n_a)
        axes = forces.shape[1]
        flat, target = regressor.reshape(-1, regressor.shape[2]), forces.ravel()
        upper, order = qr(flat, mode='r', pivoting=True)
        diagonal = np.abs(np.diag(upper))
        self._base = np.sort(order[: np.count_nonzero(diagonal > RANK * diagonal[0])])
        weights: Array = np.ones(axes)
        for _ in range(2):  # all alike, then by what is left of each axis
            rows = np.tile(weights, len(forces))
            found = np.linalg.lstsq(flat[:, self._base] * rows[:, None], target * rows, rcond=None)
            self._values = np.asarray(found[0])
            left = (target - flat[:, self._base] @ self._values).reshape(-1, axes)
            weights = 1 / np.maximum(left.std(axis=0), 1e-12)

    def predict(self, recording: Recording) -> tuple[Array, Array, None]:
        """Return stamps and predicted forces of a recording."""
        time, regressor, _ = self._rows(recording)
        return time, regressor[:, :, self._base] @ self._values, None

    def _rows(self, recording: Recording) -> tuple[Array, Array, Array]:
        """Stamps (n,), regressor (n, n_a, p) and forces (n, n_a) behind the filter."""
        log = EvenLog.of(recording.for_model(self._robot))
        cutoff = min(CUTOFF, WIDEST * log.rate)
        every = slice(None, None, max(1, int(log.rate / (ROWS * cutoff))))
        q = log.smoothed(log.positions, cutoff)
        velocities = np.gradient(q, 1 / log.rate, axis=0)
        accelerations = np.gradient(velocities, 1 / log.rate, axis=0)
        q, velocities, accelerations = q[every], velocities[every], accelerations[every]
        bodies = np.stack(
            [self._regressor(*one) for one in zip(q, velocities, accelerations, strict=True)]
        )
        eye = np.eye(q.shape[1])
        friction = [np.sign(velocities)[:, :, None] * eye, velocities[:, :, None] * eye]
        forces = log.smoothed(log.forces, cutoff)[every]
        return log.time[every], np.concatenate([bodies, *friction], axis=2), forces

    def _regressor(self, q: Array, velocity: Array, acceleration: Array) -> Array:
        """Rows (n_a, p) of one sample, in the order of the robot's actuated joints."""
        motion = np.zeros((3, self._model.nv))
        motion[:, self._columns] = q, velocity, acceleration
        rows = self._pin.computeJointTorqueRegressor(self._model, self._data, *motion)
        return np.array(rows).reshape(self._model.nv, -1)[self._columns]  # one row is flat there


def with_joints(pinocchio: Any, urdf: str, joints: Sequence[str]) -> Any:
    """Return the model of a URDF with these joints; wheels, heads and hands stay where they are."""
    model = pinocchio.buildModelFromXML(urdf)
    others = [model.getJointId(name) for name in model.names[1:] if name not in joints]
    return pinocchio.buildReducedModel(model, others, pinocchio.neutral(model))
