"""Hydraulic cylinders with servo valves: pressures and spools along time.

Flow through the edges of the valve by the root of the pressure across them, leakage past the
piston, oil that is compressed, a spool of second order [Merritt].
"""

from __future__ import annotations

import numpy as np

from pkm_description.actuation.hydraulic_drives import HydraulicDrives
from pkm_dynamics.array_types import Floats
from pkm_dynamics.kernels.decorator import compiled

LONGEST_STEP = 2e-5  # [s] of the oil; the spring of oil and rod swings within milliseconds
SPOOL_SHARE = 0.1  # of the shortest time of the spool that a step may last
# Of half of both chambers that is left at least, where a soft stop lets a piston go too far
LEAST_VOLUME = 0.05
# Share of the supply below which the flow through an edge is laminar, so that it has a slope
LAMINAR = 0.005
# Rows of the state
FIRST, SECOND, SPOOL, SPOOL_RATE = range(4)


class HydraulicCylinders:
    """Pressures and spools of the cylinders of a robot.

    A spool at x (share of its way) lets x k sqrt(p) through an edge with the pressure p across it.
    Without a load both edges share the supply, so that k sqrt(supply / 2) is the flow at full
    signal. Chambers never have less than no pressure (the oil evaporates instead).
    """

    def __init__(self, drives: HydraulicDrives) -> None:
        self.drives = drives
        self._table = np.array(
            [
                drives.supply_pressure,
                drives.piston_area,
                0.5 * drives.chamber_volume,
                drives.bulk_modulus,
                drives.leakage,
                drives.valve_no_load_flow / np.sqrt(0.5 * drives.supply_pressure),
                2.0 * np.pi * drives.valve_natural_frequency,
                drives.valve_damping,
                drives.middle,
            ]
        )
        self._state = np.zeros((4, self._table.shape[1]))
        self.reset(np.zeros(self._table.shape[1]))

    def reset(self, forces: Floats) -> None:
        """Begin with closed valves and pressures that make these forces (n_a,) [N]."""
        share = 0.5 * forces / self.drives.piston_area
        middle = 0.5 * self.drives.supply_pressure
        self._state[:] = 0.0
        self._state[FIRST], self._state[SECOND] = middle + share, middle - share

    @property
    def pressures(self) -> Floats:
        """Pressures (2, n_a) [Pa]: that which extends the joint first."""
        return self._state[:2].copy()

    @property
    def load_pressures(self) -> Floats:
        """Differences (n_a,) [Pa] that push."""
        return self._state[FIRST] - self._state[SECOND]

    @property
    def spools(self) -> Floats:
        """Where the spools (n_a,) are, shares of their way."""
        return self._state[SPOOL].copy()

    @property
    def forces(self) -> Floats:
        """Forces (n_a,) [N] of the pistons."""
        return self.drives.piston_area * self.load_pressures

    def advance(self, signals: Floats, positions: Floats, velocities: Floats, time: float) -> None:
        """Let a time [s] pass with signals (n_a,) of the valves; at 1 and -1 they open fully.

        The pistons are at `positions` (n_a,) [m] when it begins, and move at `velocities` (n_a,)
        [m/s] all the time.
        """
        drives = self.drives
        rate = 2.0 * np.pi * drives.valve_natural_frequency
        rate = rate * np.maximum(1.0, 2.0 * drives.valve_damping)
        longest = min(LONGEST_STEP, SPOOL_SHARE / rate.max())
        count = max(1, int(np.ceil(time / longest - 1e-9)))
        bounded = np.clip(signals, -1.0, 1.0)
        _advance(self._table, self._state, bounded, positions, velocities, time / count, count)


@compiled
def _edge(pressure: float, laminar: float) -> tuple[float, float]:
    """Root of the pressure across an edge, with its sign, and the slope of that."""
    size = np.sqrt(pressure * pressure + laminar * laminar)
    root = np.sqrt(size)
    return pressure / root, (1.0 - 0.5 * pressure * pressure / (size * size)) / root


@compiled
def _advance(
    table: Floats,  # (9, n_a)
    state: Floats,  # (4, n_a) in and out
    signals: Floats,  # (n_a,) within -1 and 1
    positions: Floats,  # (n_a,) [m]
    velocities: Floats,  # (n_a,) [m/s]
    step: float,  # [s]
    count: int,
) -> None:
    """Steps of first order, implicit in each chamber's own pressure.

    Edges with little pressure across are stiff.
    """
    for i in range(signals.shape[0]):
        supply, area, half = table[0, i], table[1, i], table[2, i]
        modulus, leakage, conductance = table[3, i], table[4, i], table[5, i]
        angular, damping = table[6, i], table[7, i]
        laminar = LAMINAR * supply
        away, v = positions[i] - table[8, i], velocities[i]
        p1, p2, x, rate = state[0, i], state[1, i], state[2, i], state[3, i]
        for _ in range(count):
            # the spool, by its velocity first, stops at its ends
            rate += step * (angular * angular * (signals[i] - x) - 2.0 * damping * angular * rate)
            x += step * rate
            if x > 1.0 or x < -1.0:
                x = min(1.0, max(-1.0, x))
                rate = 0.0
            opening = conductance * abs(x)
            if x >= 0.0:
                root1, slope1 = _edge(supply - p1, laminar)
                root2, slope2 = _edge(-p2, laminar)
            else:
                root1, slope1 = _edge(-p1, laminar)
                root2, slope2 = _edge(supply - p2, laminar)
            lost = leakage * (p1 - p2)
            stiff1 = modulus / max(half + area * away, LEAST_VOLUME * half)
            stiff2 = modulus / max(half - area * away, LEAST_VOLUME * half)
            change1 = stiff1 * (opening * root1 - area * v - lost)
            change2 = stiff2 * (opening * root2 + area * v + lost)
            p1 += step * change1 / (1.0 + step * stiff1 * (opening * slope1 + leakage))
            p2 += step * change2 / (1.0 + step * stiff2 * (opening * slope2 + leakage))
            p1, p2 = max(p1, 0.0), max(p2, 0.0)
            away += step * v
        state[0, i], state[1, i], state[2, i], state[3, i] = p1, p2, x, rate
