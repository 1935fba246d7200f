"""Inverse dynamics of a closed chain on any engine that knows trees.

An engine gives the open tree's forces, the loops' residual and their Jacobian. Closing the
loops, velocities, accelerations and the projection to the actuators are done here, with the
loops' drift from differences of the Jacobian along the motion. None of it is shared with the
equations of `ClosedChainModel`, which it checks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import Description
from pkm_description.errors import ConvergenceError
from pkm_dynamics.array_types import Floats

STEP = 1e-3  # [s] of the differences, at a rate of 1 m/s or 1 rad/s
TRANSITION_VELOCITY = Description.transition_velocity  # [m/s, rad/s] by default


class ClosedTree(ABC):
    """A tree with loops; an engine derives from this and sets the attributes.

    `actuated` are the velocity coordinates of the actuated joints, `q` a closed configuration from
    which the search starts, `nv` how many velocities there are.
    """

    actuated: Sequence[int]
    q: Floats
    nv: int

    @abstractmethod
    def integrate(self, q: Floats, change: Floats) -> Floats:
        """Return the configuration after a change (n_v,)."""

    @abstractmethod
    def rows(self, q: Floats) -> tuple[Floats, Floats]:
        """Residual (n_r,) of the loops and its Jacobian (n_r, n_v)."""

    @abstractmethod
    def positions(self, q: Floats) -> Floats:
        """Positions of the actuated joints, as the description counts them."""

    @abstractmethod
    def tree_forces(self, q: Floats, v: Floats, a: Floats) -> Floats:
        """Generalised forces (n_v,) of the open tree, friction included."""

    def system(self, q: Floats) -> tuple[Floats, Floats]:
        """Residual of the loops, and the Jacobian of loops and actuators."""
        residual, jacobian = self.rows(q)
        selection = np.zeros((len(self.actuated), self.nv))
        selection[np.arange(len(self.actuated)), self.actuated] = 1.0
        return residual, np.vstack([jacobian, selection])

    def close(self, q_a: Floats) -> Floats:
        """Configuration with the actuators at `q_a`, near the last one.

        Raises ConvergenceError where the loops do not close.
        """
        start = self.positions(self.q)
        error = np.full(1, np.inf)
        for fraction in np.linspace(0.25, 1.0, 4):
            goal = start + fraction * (q_a - start)
            for _ in range(30):
                residual, system = self.system(self.q)
                error = np.concatenate([residual, self.positions(self.q) - goal])
                if np.max(np.abs(error), initial=0.0) < 1e-13:
                    break
                change = np.linalg.lstsq(system, -error, rcond=1e-9)[0]
                if np.max(np.abs(change)) < 1e-14:
                    break
                self.q = self.integrate(self.q, change)
        if np.max(np.abs(error), initial=0.0) > 1e-10:
            raise ConvergenceError('the loops of the tree do not close')
        return self.q

    def forces(self, q_a: ArrayLike, qd_a: ArrayLike, qdd_a: ArrayLike) -> Floats:
        """Actuator forces (n_a,) [N, N m] of a motion of the actuators (n_a,)."""
        q, qd = self.close(np.asarray(q_a, dtype=float)), np.asarray(qd_a, dtype=float)
        residual, system = self.system(q)
        if np.linalg.matrix_rank(system, tol=1e-8) < self.nv:
            raise ConvergenceError('the actuators do not determine the motion of the tree')
        zero = np.zeros(len(residual))
        v = np.linalg.lstsq(system, np.concatenate([zero, qd]), rcond=1e-9)[0]
        drift = zero
        length = STEP / max(1.0, float(np.max(np.abs(v), initial=0.0)))
        for weight, step in ((8, 1), (-8, -1), (-1, 2), (1, -2)):
            shifted = self.integrate(q, step * length * v)
            drift = drift + weight * (self.rows(shifted)[1] @ v) / (12 * length)
        whole = np.concatenate([-drift, np.asarray(qdd_a, dtype=float)])
        a = np.linalg.lstsq(system, whole, rcond=1e-9)[0]
        unit = np.vstack([np.zeros((len(residual), len(qd))), np.eye(len(qd))])
        transfer = np.linalg.lstsq(system, unit, rcond=1e-9)[0]
        return np.asarray(transfer.T @ self.tree_forces(q, v, a))


def saturated(rate: ArrayLike, transition: float) -> Floats:
    """Coulomb friction's direction, linear between plus and minus the transition velocity."""
    return np.asarray(np.clip(np.asarray(rate) / transition, -1.0, 1.0))
