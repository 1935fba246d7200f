"""Inverse dynamics of a closed chain on any engine that knows trees.

An engine gives the open tree's forces, the loops' residual and their Jacobian. Closing the
loops, velocities, accelerations and the projection to the actuators are done here, with the
loops' drift from differences of the Jacobian along the motion.
"""

from __future__ import annotations

import numpy as np

STEP = 1e-3


class ClosedLoop:
    """A closed chain; an engine derives from this and sets `actuated` and `q`.

    `actuated` are the velocity coordinates of the actuated joints, `q` a closed
    configuration from which the search starts.
    """

    actuated: list[int]
    q: np.ndarray
    nv: int

    def integrate(self, q, change):
        raise NotImplementedError

    def rows(self, q):
        """Residual (n_r,) of the loops and its Jacobian (n_r, n_v)."""
        raise NotImplementedError

    def positions(self, q):
        """Positions of the actuated joints, as the description counts them."""
        raise NotImplementedError

    def tree_forces(self, q, v, a):
        """Generalised forces (n_v,) of the open tree, friction included."""
        raise NotImplementedError

    def system(self, q):
        residual, jacobian = self.rows(q)
        selection = np.zeros((len(self.actuated), self.nv))
        selection[np.arange(len(self.actuated)), self.actuated] = 1.0
        return residual, np.vstack([jacobian, selection])

    def close(self, q_a):
        """Configuration with the actuators at `q_a`, near the last one."""
        start = self.positions(self.q)
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
            assert np.max(np.abs(error), initial=0.0) < 1e-10, 'the exported loops do not close'
        return self.q

    def forces(self, q_a, qd_a, qdd_a):
        """Actuator forces (n_a,) of a motion of the actuators."""
        q = self.close(np.asarray(q_a))
        residual, system = self.system(q)
        assert np.linalg.matrix_rank(system, tol=1e-8) == self.nv, 'the export is not determined'
        zero = np.zeros(len(residual))
        v = np.linalg.lstsq(system, np.concatenate([zero, qd_a]), rcond=1e-9)[0]
        drift = zero
        length = STEP / max(1.0, np.max(np.abs(v)))
        for weight, step in ((8, 1), (-8, -1), (-1, 2), (1, -2)):
            shifted = self.integrate(q, step * length * v)
            drift = drift + weight * (self.rows(shifted)[1] @ v) / (12 * length)
        a = np.linalg.lstsq(system, np.concatenate([-drift, qdd_a]), rcond=1e-9)[0]
        unit = np.vstack([np.zeros((len(residual), len(q_a))), np.eye(len(q_a))])
        transfer = np.linalg.lstsq(system, unit, rcond=1e-9)[0]
        return transfer.T @ self.tree_forces(q, v, a)


def saturated(rate, transition):
    """Coulomb friction's direction, linear between plus and minus the transition velocity."""
    return np.clip(np.asarray(rate) / transition, -1.0, 1.0)
