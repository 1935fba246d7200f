"""Force constants, payloads and dynamics from currents of several runs, all in one problem.

With the force constant K_a = kappa_a exp(l_a) of drive a, kappa_a its nominal value, the
measured current i_a times kappa_a is

    kappa_a i_a = exp(-l_a) (Psi_a p + Phi_a q) + noise,

Phi q the forces of the payload of the run, q its standard parameters. The classic form
i_a kappa_a exp(l_a) - Psi_a p = Phi_a q puts the noisy currents into the regressor, where
they bias least squares; its total least-squares solution with noise in these columns alone
[Gautier, Vandanjon, Presse 1994; Gautier & Briot 2014] minimises what this form does, in
which the noise stands by itself. It is bilinear: Gauss-Newton steps, each an ordinary
linear problem for `ls`, `wls` or `gauss_markov`.

Without a payload (q = 0) and other knowledge, l + s with exp(s) p makes the same currents
for any s: only the ratios of the constants are determined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pkm_description.errors import EstimationError
from pkm_identification.arrays import Array
from pkm_identification.force_constants.drive_gains import ForceConstantGroups
from pkm_identification.force_constants.payload_columns import Bodies
from pkm_identification.regression.problem import Problem
from pkm_identification.regression.run import Rows
from pkm_identification.regression.selection import Selection
from pkm_identification.regression.weighted_least_squares import Estimate, rows_for

Solve = Callable[[Problem], Estimate]

MAX_STEPS = 50  # Gauss-Newton needs under ten from nominal constants a factor two away
HALVINGS = 12  # of a step, which is 4,000 times as short then
CONVERGED_STEP = 1e-3  # standard deviations: parameters move no further than that by more steps
SMALLEST_DECREASE = 1e-10  # of the cost, which is a sum of 1e4 squares: below it is rounding
MOVING = 0.1  # relative change of a constant by the last step: the data hardly tell it
SCALE_SHOWN = 1e-6  # of the currents that a common factor must change to be determined


@dataclass(frozen=True)
class State:
    """Values of everything that the currents depend on."""

    parameters: Array  # base parameters (r,), fixed ones too
    bodies: Array  # mass, centre and inertia of the payloads (10 P,)
    logarithms: Array  # of the force constants over the nominal ones (g,)


@dataclass(frozen=True)
class BilinearProblem:
    """The bilinear problem.

    Unknowns are the base parameters (r), the open components of the payloads (t), the
    logarithms of the force constants (g), in this order.
    """

    # Linear, with the nominal constants: free parameters are those of the base, then the standard
    # parameters of all payloads (10 P). Its prior is left out
    problem: Problem
    selection: Selection  # free and fixed base parameters
    bodies: Bodies
    groups: ForceConstantGroups  # unknown force constants
    prior: tuple[Array, Array]  # rows (k, r + t + g) and target (k,) of what is known before

    @cached_property
    def further_names(self) -> tuple[str, ...]:
        """Names of the unknowns that follow the base parameters."""
        open_names = [self.bodies.names[i] for i in self.bodies.open]
        drives = [f'{members[0]}.force_constant' for members in self.groups.joints]
        return (*open_names, *drives)

    @property
    def size(self) -> int:
        """Number of all unknowns r + t + g, the fixed base parameters included."""
        return self.selection.size + len(self.further_names)

    @cached_property
    def whole(self) -> Selection:
        """Free and fixed ones of all unknowns."""
        count = self.selection.size
        more = np.arange(count, self.size, dtype=np.int64)
        return replace(self.selection, free=np.concatenate([self.selection.free, more]))

    def state(self, unknowns: Array) -> State:
        """Read unknowns (r + t + g,)."""
        count, opened = self.selection.size, self.bodies.open
        bodies = self.bodies.start.ravel().copy()
        bodies[opened] = unknowns[count : count + len(opened)]
        return State(unknowns[:count], bodies, unknowns[count + len(opened) :])

    def unknowns(self, state: State) -> Array:
        """Return the unknowns (r + t + g,) of a state."""
        return np.concatenate([state.parameters, state.bodies[self.bodies.open], state.logarithms])

    def forces(self, rows: Rows, state: State) -> Array:
        """Forces (m, n_a) of robot and payload in rows of the linear problem."""
        robot, loads = state.parameters, self.bodies.standard(state.bodies)
        values = np.concatenate([robot[self.selection.free], loads])
        return np.asarray(rows.regressor @ values + rows.fixed @ robot[self.selection.fixed])

    def measured(self, rows: Rows) -> Array:
        """Currents times nominal constants (m, n_a) in rows of the linear problem."""
        return np.asarray(rows.forces + rows.fixed @ self.selection.values)

    def linearised_rows(self, rows: Rows, state: State) -> Rows:
        """Rows of all unknowns about a state."""
        free = len(self.selection.free)
        shares = 1 / self.groups.factors(state.logarithms)
        model = shares * self.forces(rows, state)
        loads = rows.regressor[..., free:] @ self.bodies.jacobian(state.bodies)
        own = shares[:, None] * np.concatenate([rows.regressor[..., :free], loads], axis=2)
        design = np.concatenate([own, -model[..., None] * self.groups.members], axis=2)
        here = self.unknowns(state)[self.whole.free]
        target = self.measured(rows) - model + design @ here
        return Rows(design, target, shares[:, None] * rows.fixed)

    def linearised(self, state: State) -> Problem:
        """The linear problem of all unknowns about a state; undetermined ones stay there."""
        runs = []
        for run in self.problem.runs:
            rows = self.linearised_rows(run.rows, state)
            is_short = run.compact is run.rows
            compact = None if is_short else self.linearised_rows(run.compact, state)
            runs.append(run.with_rows(rows, self.whole, compact))
        base, model, here = self.problem.base, self.problem.model, self.unknowns(state)
        return Problem(tuple(runs), base, model, self.whole, here, self.prior, self.further_names)

    def cost(self, state: State, weights: Sequence[Array]) -> float:
        """Weighted sum of squares of data and prior."""
        rows, target = self.prior
        total = float(np.sum((rows @ self.unknowns(state) - target) ** 2))
        shares = 1 / self.groups.factors(state.logarithms)
        for run, weight in zip(self.problem.runs, weights, strict=True):
            part = rows_for(run, weight)
            left = self.measured(part) - shares * self.forces(part, state)
            total += float(np.sum((weight @ left[..., None]) ** 2))
        return total

    def solve(self, solve: Solve, start: State) -> tuple[State, Problem, Estimate]:
        """Gauss-Newton steps from a start, shortened where they do not lower the cost.

        The linear estimator `solve` chooses weights and noise; the start has positive masses.
        Returns the solution, the linear problem about it, and what the estimator says of that.
        EstimationError where there is no convergence.
        """
        state, steps = start, 0
        while steps < MAX_STEPS:
            steps += 1
            here, linear = state, self.linearised(state)
            estimate = solve(linear)
            assert estimate.weights is not None
            step = np.zeros(self.size)
            step[self.whole.free] = estimate.values - linear.nominal
            length = self._length(linear, estimate.weights, step)
            if length < CONVERGED_STEP:
                return state, linear, estimate
            before = self.cost(state, estimate.weights)
            for halving in range(HALVINGS):
                trial = self.state(self.unknowns(state) + step * 0.5**halving)
                after = self.cost(trial, estimate.weights)
                if np.isfinite(after) and after < before:
                    break
            else:
                if length**2 < SMALLEST_DECREASE * before:
                    return state, linear, estimate
                break
            state = trial
            if (
                before - after < SMALLEST_DECREASE * before
                and length**2 < np.sqrt(SMALLEST_DECREASE) * before
            ):
                linear = self.linearised(state)
                return state, linear, solve(linear)
        assert estimate.weights is not None
        common = self.is_free_to_scale(linear, estimate.weights, here)
        moved = moving_constants(self.groups.joints, self.state(step).logarithms, common)
        told = f': the data hardly tell the force constants of {", ".join(moved)}' if moved else ''
        raise EstimationError(
            f'force constants, payloads and parameters did not converge in {steps} steps{told}; '
            'start nearer (force constants of the description), or give what is known of '
            'constants (drive_gains=DriveGains(deviation=...)) or payloads'
        )

    @staticmethod
    def _length(linear: Problem, weights: Sequence[Array], step: Array) -> float:
        """Length of a step of all unknowns in standard deviations of the whitened rows."""
        free = step[linear.free]
        moved = [linear.prior_rows @ free]
        for run, weight in zip(linear.runs, weights, strict=True):
            moved.append((weight @ (rows_for(run, weight).regressor @ free)[..., None]).ravel())
        return float(np.linalg.norm(np.concatenate(moved)))

    def is_free_to_scale(self, linear: Problem, weights: Sequence[Array], state: State) -> bool:
        """Whether all forces and force constants could be multiplied by one number."""
        if not self.groups.size:
            return False
        bodies = state.bodies.reshape(-1, 10).copy()
        bodies[:, 1:4] = 0.0  # centres of mass stay
        growth = self.unknowns(State(state.parameters, bodies.ravel(), np.ones(self.groups.size)))
        growth[self.selection.fixed] = 0.0
        power = sum(
            np.sum((weight @ self.measured(rows_for(run, weight))[..., None]) ** 2)
            for run, weight in zip(self.problem.runs, weights, strict=True)
        )
        return self._length(linear, weights, growth) < SCALE_SHOWN * float(np.sqrt(power))

    def with_mean_one(self, state: State) -> State:
        """Scale a state so that the geometric mean of the factors is one."""
        members = self.groups.members
        shift = -float(np.sum(members @ state.logarithms) / members.sum())
        grows = self.bodies.deviations.reshape(-1, 10) > 0
        grows[:, 1:4] = False  # centres of mass stay
        bodies = state.bodies * np.where(grows.ravel(), np.exp(shift), 1.0)
        parameters = state.parameters.copy()
        parameters[self.selection.free] *= np.exp(shift)
        return State(parameters, bodies, state.logarithms + shift)


def moving_constants(
    joints: Sequence[Sequence[str]], logarithms: Array, is_free_to_scale: bool
) -> list[str]:
    """Name the groups of drives whose constants a last step changes much, the most first.

    `logarithms` (g,) are the changes; of constants that could all be multiplied by one number
    those against the others.
    """
    changes = np.abs(logarithms - (np.median(logarithms) if is_free_to_scale else 0.0))
    return ['/'.join(joints[k]) for k in np.argsort(-changes) if changes[k] > MOVING]
