"""Motion in time under actuator forces.

All coordinates of the spanning tree are integrated; where rounding and the steps' errors
have opened a loop by more than a tolerance, the state is projected back onto the loops.
The work of the forces and the heat of friction are integrated with the state; the energy
of the bodies is not, so that energy - work + heat shows how true the integration is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy import integrate

from pkm_description.errors import KinematicsError, TrajectoryError
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.energy import body_energy_parts, checked_times
from pkm_dynamics.equations.equations_of_motion import EquationsOfMotion, Forces, Wrenches
from pkm_dynamics.model import ClosedChainModel
from pkm_dynamics.motion import PlatformMotion, joined_motions

METHODS = {
    'RK23': integrate.RK23,
    'RK45': integrate.RK45,
    'DOP853': integrate.DOP853,
    'Radau': integrate.Radau,
    'BDF': integrate.BDF,
    'LSODA': integrate.LSODA,
}
COMPLETE, SINGULAR, NO_STEP, TOO_MANY = 'complete', 'singular', 'no_step', 'too_many'
CLOSURE_TOLERANCE = 1e-9  # [m, 1] of a loop before a projection; each one starts the solver anew


@dataclass(frozen=True)
class IntegratedMotion:
    """A motion in time and how true it is."""

    time: Floats  # (N,) [s] the instants that were asked for, up to where the integration came
    motion: PlatformMotion  # with the states of all joints
    forces: Floats  # (N, n_a) [N, N m] of the actuators
    kinetic: Floats  # (N,) [J] energies of bodies and rotors
    potential: Floats  # (N,) [J]
    work: Floats  # (N,) [J] of actuators and wrench since the start
    heat: Floats  # (N,) [J] of friction since the start
    # [m, 1; m/s, 1/s] largest gap of any loop, in position or velocity, at the end of any step
    # before it was projected
    closure_gap: float
    projections: int  # how often the state was projected onto the loops
    # complete, singular (the loops have more freedom there than drives), no_step (the step got too
    # small), too_many (evaluations)
    status: str
    message: str
    evaluations: int  # of the equations of motion

    @property
    def success(self) -> bool:
        """Whether all instants were reached."""
        return self.status == COMPLETE

    @property
    def energy(self) -> Floats:
        """Kinetic and potential energy (N,) [J]."""
        return self.kinetic + self.potential

    @property
    def drift(self) -> Floats:
        """Energy (N,) that came from nowhere: change of energy - work + heat [J]."""
        return self.energy - self.energy[0] - self.work + self.heat

    @property
    def relative_drift(self) -> float:
        """Largest drift by the largest kinetic energy, change of height, work or heat."""
        moved = [self.kinetic.max(), *map(np.ptp, (self.potential, self.work, self.heat))]
        return float(np.abs(self.drift).max() / max(*moved, 1e-300))


def integrate_motion(
    model: ClosedChainModel,
    time: ArrayLike,
    forces: Forces = None,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    parameters: ArrayLike | None = None,
    wrench: Wrenches = None,
    method: str = 'DOP853',
    tolerance: float = 1e-10,
    max_step: float = np.inf,
    max_evaluations: int = 200_000,
) -> IntegratedMotion:
    """Integrate the equations of motion from a state of the actuators.

    Coulomb friction is linear between plus and minus the description's transition
    velocity: it creeps where real friction sticks, and makes the equations stiff near
    standstill, where 'LSODA' and 'Radau' take longer steps than 'DOP853'.

    The motion starts at the first of the times (N,) [s] at q, qd (n_a,), by default at home
    and at rest. `forces` are (n_a,) [N, N m], or a function of time [s], q and qd that returns
    them; none at all when absent (free fall, or a free joint's coordinate). `wrench` may be a
    function of time and the state, too. `tolerance` is the relative error of a step, the
    absolute one a hundredth of it; after `max_evaluations` the integration is given up.
    Raises TrajectoryError where a shape is wrong or a name unknown; SimulationError where the
    mass matrix is not positive definite or a force not finite; KinematicsError where the
    mechanism does not assemble at the start, or is singular there.
    """
    times = checked_times(time)
    if method not in METHODS:
        raise TrajectoryError(f"unknown method '{method}'; methods are {', '.join(METHODS)}")
    equations = EquationsOfMotion(model, forces, wrench, parameters)
    options = {'max_step': max_step, 'rtol': tolerance, 'atol': 0.01 * tolerance}
    run = _Run(equations, partial(METHODS[method], equations, **options), max_evaluations)
    return run.through(times, equations.start(q, qd))


@dataclass
class _Run:
    """One integration: steps, projections and what came of it."""

    equations: EquationsOfMotion
    solver: Callable[..., integrate.OdeSolver]  # of the start's time and state, and the end's time
    max_evaluations: int
    gap: float = 0.0
    projections: int = 0

    def through(self, times: Floats, start: Floats) -> IntegratedMotion:
        """Integrate over the times; the result says how far it came."""
        self.equations(times[0], start)  # raises where the start is impossible
        states = [start]
        status, message = COMPLETE, f'reached {times[-1]:g} s'
        try:
            solver = self.solver(times[0], start, times[-1])
            while solver.status == 'running' and status == COMPLETE:
                problem = solver.step()
                if solver.status == 'failed':
                    status, message = NO_STEP, f'{problem} at {solver.t:.6g} s'
                    break
                passed = times[len(states) :]
                passed = passed[passed <= solver.t]
                if len(passed):
                    output = solver.dense_output()
                    states += [self.equations.projected(output(t)) for t in passed]
                solver = self._closed(solver, times[-1])
                if self.equations.count > self.max_evaluations:
                    status = TOO_MANY
                    message = f'{self.equations.count} evaluations at {solver.t:.6g} s'
        except KinematicsError as error:
            reached = times[len(states) - 1]
            status, message = SINGULAR, f'after {reached:.6g} s: {error}'
        return self._result(times[: len(states)], np.array(states), status, message)

    def _closed(self, solver: integrate.OdeSolver, end: float) -> integrate.OdeSolver:
        """Start anew from the projected state where a loop has opened."""
        gap = self.equations.gap(solver.y)
        self.gap = max(self.gap, gap)
        if gap < CLOSURE_TOLERANCE or solver.status != 'running':
            return solver
        self.projections += 1
        step = min(solver.step_size or np.inf, end - solver.t)
        return self.solver(solver.t, self.equations.projected(solver.y), end, first_step=step)

    def _result(
        self, times: Floats, vectors: Floats, status: str, message: str
    ) -> IntegratedMotion:
        equations, model = self.equations, self.equations.model
        evaluations = equations.count
        states = [equations.unpacked(vector) for vector in vectors]
        found = [equations.accelerations(t, y) for t, y in zip(times, states, strict=True)]
        energies, motions = [], []
        for bodies, rates_dot, *_ in found:
            motions.append(bodies.accelerated(rates_dot[None]).platform_motion())
            parts = body_energy_parts(model, bodies, equations.terms)
            energies.append([part[0] @ equations.values for part in parts])
        motion = joined_motions(motions)
        kinetic, potential = np.array(energies).T
        actuators = model.actuator_states(motion)
        forces = [
            equations.forces(t, q, qd)
            for t, q, qd in zip(times, actuators.positions, actuators.velocities, strict=True)
        ]
        return IntegratedMotion(
            time=times,
            motion=motion,
            forces=np.array(forces),
            kinetic=kinetic,
            potential=potential,
            work=np.array([state.work for state in states]),
            heat=np.array([state.heat for state in states]),
            closure_gap=self.gap,
            projections=self.projections,
            status=status,
            message=message,
            evaluations=evaluations,
        )
