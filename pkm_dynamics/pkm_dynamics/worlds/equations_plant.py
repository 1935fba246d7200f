"""A robot whose world are the project's own equations of motion."""

from __future__ import annotations

from functools import cached_property

from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.equations_of_motion import EquationsOfMotion
from pkm_dynamics.worlds.stepped_plant import SteppedPlant


class EquationsPlant(SteppedPlant):
    """A robot that the equations of motion move, by Runge's and Kutta's method of fourth order.

    A force acts over its whole interval. Friction near standstill is stiff: hence the substeps.
    """

    @cached_property
    def _model(self) -> ClosedChainModel:
        return ClosedChainModel(self.description)

    @property
    def force_delay(self) -> float:
        """Mean of the instants at which a force acts, after the begin of its interval [s]."""
        return 0.5 * self.step_time

    def closure_gap(self) -> float:
        """Return the largest distance [m] between points that the loops hold together."""
        return self._equations.gap(self._vector)

    def _begin(self, positions: Floats) -> None:
        self._given = self.velocities
        self._equations = EquationsOfMotion(self._model, lambda t, q, qd: self._given, None, None)
        self._vector = self._equations.start(positions, None)

    def _stepped(self, forces: Floats) -> tuple[Floats, Floats]:
        self._given = forces
        rate, y, h = self._equations, self._vector, self.step_time / self.substeps
        first = rate(0.0, y)
        second = rate(0.0, y + 0.5 * h * first)
        third = rate(0.0, y + 0.5 * h * second)
        last = rate(0.0, y + h * third)
        y = y + h / 6.0 * (first + 2.0 * second + 2.0 * third + last)
        self._vector = rate.projected(y)
        state = rate.unpacked(self._vector)
        mechanism = self._equations.model.mechanism
        return state.joints[mechanism.actuated_scalar], state.rates[mechanism.actuated]
