"""What was learned of a motion, without learning it."""

from __future__ import annotations

import numpy as np

from pkm_control.learning.learned_force import MotionKey, Scope
from pkm_control.learning.learning_law import MotionLearning
from pkm_control.learning.watch import Expectation, LeadIn


def taught(model, digest: str = 'f') -> MotionLearning:
    """Return a period with its way in, of arbitrary numbers, learned with the model of a digest."""
    random, shape = np.random.default_rng(4), (8, model.n_a)
    key = MotionKey(model.description.name, model.description.digest, 'm', digest, Scope.PERIOD)
    limit = 0.1 * np.asarray(model.force_limit)

    def some(size: float, rows: int = 8) -> np.ndarray:
        return size * random.normal(size=(rows, model.n_a))

    def expected(rows: int) -> Expectation:
        return Expectation(some(5e-6, rows), some(1e-4, rows), some(1e-4, rows))

    tables = dict.fromkeys(('error', 'applied', 'best_force', 'positions', 'velocities'))
    return MotionLearning(
        key,
        tuple(model.actuated_joints),
        interval=3e-3,
        cutoff=30.0,
        limit=limit,
        force=np.clip(limit * random.normal(size=shape), -limit, limit),
        expected=expected(8),
        best_error=1.0,
        weight=np.ones(model.n_a),
        noise=random.uniform(1.0, 3.0, model.n_a) * 1e-12,
        floor=np.zeros(model.n_a),
        lead_in=LeadIn(0.03, some(0.5, 14) * limit, expected(14)),
        **{name: np.zeros(shape) for name in tables},
    )
