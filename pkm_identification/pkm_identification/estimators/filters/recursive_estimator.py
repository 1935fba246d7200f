"""Parameters of a robot while it moves: `RecursiveEstimator`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pkm_description.errors import EstimationError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_dynamics.friction_laws import DriveFriction
from pkm_identification.arrays import Array
from pkm_identification.estimators.filters.recursive_least_squares import RecursiveLeastSquares
from pkm_identification.regression.numerics import typical_sizes
from pkm_identification.regression.prior import require_same_parameters
from pkm_identification.result.result import IdentificationResult

WARM_UP = 10.0  # samples that the first guess of the noise counts for
NOISE_MEMORY = 1000.0  # samples that the estimate of the noise rests on
FIRST_NOISE = 0.1  # of the largest force that the actuators may make


class RecursiveEstimator:
    """Base parameters from motions and forces, sample by sample.

    Parameters
    ----------
    model
        The mechanism.
    shared, reduced
        Which base parameters, as in `identify`.
    prior
        Start: an earlier result of the same parameters; None: the nominal values. What it
        holds exactly stays fixed, and so do its friction laws beyond Coulomb and viscous
        friction, as if they were exact: their forces are taken off the measured ones.
    initial_deviation
        Standard deviation of the start over the size of the nominal values, without a prior.
    noise
        Standard deviation (n_a,) [N, N m] of the forces, one for all, or covariance
        (n_a, n_a); None: estimated from the innovations of each axis.
    forgetting
        Factor that older samples weigh less by, each sample.
    huber
        Innovations beyond so many standard deviations count less; None: all count alike.

    Raises
    ------
    EstimationError
        The prior has other parameters, or a value is out of range.
    """

    def __init__(
        self,
        model: ClosedChainModel,
        *,
        shared: bool = True,
        reduced: bool | str = True,
        prior: IdentificationResult | None = None,
        initial_deviation: float = 1.0,
        noise: ArrayLike | None = None,
        forgetting: float = 1.0,
        huber: float | None = None,
    ) -> None:
        self.model = model
        self.base = model.base_parameters(shared=shared, reduced=reduced)
        values, covariance = self._start(prior, initial_deviation)
        friction = None if prior is None else prior.drive_friction
        self._friction = None if friction is None else friction.law
        self._whole = values
        self._free = np.flatnonzero(np.diag(covariance) > 0)
        self._fixed = np.flatnonzero(np.diag(covariance) == 0)
        if not self._free.size:
            raise EstimationError('the prior holds all parameters exactly: nothing is estimated')
        self._adaptive = noise is None
        self._weight = WARM_UP
        if noise is None:
            limit = np.asarray(model.force_limit, dtype=float)
            noise = FIRST_NOISE * np.where(np.isfinite(limit) & (limit > 0), limit, 1.0)
        own, spread = np.ix_(self._free, self._free), _noise_covariance(noise, model)
        self._recursion = RecursiveLeastSquares(
            values[self._free], covariance[own], spread, forgetting, huber
        )

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return list(self.base.names)

    @property
    def units(self) -> list[str]:
        """Their units."""
        return list(self.base.units)

    @property
    def values(self) -> Array:
        """Estimates (r,)."""
        values = self._whole.copy()
        values[self._free] = self._recursion.values
        return values

    @property
    def covariance(self) -> Array:
        """Covariance (r, r) of their errors, for constant parameters."""
        covariance = np.zeros((len(self._whole),) * 2)
        covariance[np.ix_(self._free, self._free)] = self._recursion.covariance()
        return covariance

    @property
    def drive_friction(self) -> DriveFriction | None:
        """Friction laws of the prior, which stay as they are."""
        return self._friction

    @property
    def noise(self) -> Array:
        """Covariance (n_a, n_a) of the forces that the weights rest on."""
        return self._recursion.noise

    @property
    def updates(self) -> int:
        """Samples taken in."""
        return self._recursion.updates

    def update(self, motion: PlatformMotion, forces: ArrayLike) -> tuple[Array, Array]:
        """Take in samples of the motion (N) and the forces (N, n_a) or (n_a,) [N, N m].

        Returns the values (r,) and their covariance (r, r). EstimationError where forces or
        regressor are not finite, or do not fit the motion.
        """
        return self.update_rows(*self.rows_of(motion, forces))

    def rows_of(self, motion: PlatformMotion, forces: ArrayLike) -> tuple[Array, Array]:
        """Return the regressor (N, n_a, r) and the forces (N, n_a) that it has to explain.

        The forces are without those of the prior's friction laws. What goes through a filter
        before `update_rows` is these two.
        """
        regressor = np.asarray(self.base.regressor(motion))
        given = np.atleast_2d(np.asarray(forces, dtype=float))
        if given.shape != regressor.shape[:2]:
            raise EstimationError(f'forces must be {regressor.shape[:2]}, got {given.shape}')
        return regressor, given - self._law_forces(motion)

    def update_rows(self, regressor: Array, forces: Array) -> tuple[Array, Array]:
        """Take in rows (N, n_a, r) and forces (N, n_a) of `rows_of`; see `update`."""
        if not (np.isfinite(forces).all() and np.isfinite(regressor).all()):
            raise EstimationError('forces and motion must be finite')
        given = forces - regressor[..., self._fixed] @ self._whole[self._fixed]
        for rows, force in zip(regressor[..., self._free], given, strict=True):
            share = self._noise_share(rows) if self._adaptive else None
            innovation = self._recursion.update(rows, force)
            if share is not None:
                self._adapt(innovation, share)
        return self.values, self.covariance

    def predict(self, motion: PlatformMotion) -> Array:
        """Forces (N, n_a) that the present estimate expects."""
        linear = np.asarray(self.base.regressor(motion)) @ self.values
        return np.asarray(linear + self._law_forces(motion))

    def _law_forces(self, motion: PlatformMotion) -> Array | float:
        """Forces (N, n_a) of the friction laws that stay."""
        if self._friction is None:
            return 0.0
        velocities = np.asarray(self.model.actuator_states(motion).velocities)
        return self._friction.forces(velocities)

    def _noise_share(self, rows: Array) -> Array:
        """Share (n_a,) of the noise in the variance of the next innovation."""
        variance = np.diag(self.noise)
        spread = rows @ self._recursion.inverse_root
        return np.asarray(variance / (variance + np.sum(spread**2, axis=1)))

    def _adapt(self, innovation: Array, share: Array) -> None:
        """Follow the variance of each axis."""
        recursion, variance = self._recursion, np.diag(self.noise)
        self._weight = min(self._weight + 1.0, NOISE_MEMORY)
        surprise = innovation**2 * share
        if recursion.huber is not None:
            surprise = np.minimum(surprise, recursion.huber**2 * variance)
        recursion.noise = np.diag(variance + (surprise - variance) / self._weight)

    def _start(
        self, prior: IdentificationResult | None, initial_deviation: float
    ) -> tuple[Array, Array]:
        nominal = np.asarray(self.base.matrix @ self.model.nominal_parameters)
        if prior is not None:
            require_same_parameters(prior, self.names)
            covariance = np.array(prior.covariance)
            open_ends = np.flatnonzero(~np.isfinite(np.diag(covariance)))
            covariance[open_ends, open_ends] = (10 * typical_sizes(nominal)[open_ends]) ** 2
            return np.array(prior.values), covariance
        if not initial_deviation > 0:
            raise EstimationError(f'initial_deviation must be positive, got {initial_deviation:g}')
        return nominal, np.diag((initial_deviation * typical_sizes(nominal)) ** 2)


def _noise_covariance(noise: ArrayLike, model: ClosedChainModel) -> Array:
    """Return the covariance (n_a, n_a) for standard deviations or a covariance."""
    given = np.asarray(noise, dtype=float)
    if given.ndim == 2:
        return given
    return np.diag(np.broadcast_to(given, len(model.actuated_joints)) ** 2)
