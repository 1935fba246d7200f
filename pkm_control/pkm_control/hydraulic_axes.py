"""Control of hydraulic cylinders by the signals of their valves.

`AxisControl` closes a loop of position around each axis and feeds the speed forward, as [H] does;
what the valve, the oil and the mechanism make of that speed can be fed forward, too.
`ForceControl` makes the forces that another controller wants, by a loop of pressure, as drives
of electrical robots do by currents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag, expm

from pkm_description.actuation.hydraulic_drives import HydraulicDrives, read_hydraulics
from pkm_description.errors import PkmError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.array_types import Floats
from pkm_dynamics.equations.actuator_inertia import inertia_matrix

GAIN_MARGIN = 2.0  # of the largest gain without swinging: 6 dB, as is usual
MOST_GAIN = 1e4  # [1/s]
# Of the supply that is left for an edge of the valve at least: less would need endless signals
LEAST_SHARE = 0.05


class HydraulicControlError(PkmError):
    """Axes of a robot cannot be controlled."""


@dataclass(frozen=True)
class AxisReference:
    """What the axes shall do at an instant: arrays (n_a,)."""

    positions: Floats  # [m]
    velocities: Floats  # [m/s]
    accelerations: Floats  # [m/s^2]
    jerks: Floats  # [m/s^3]
    forces: Floats  # [N] that the mechanism needs, by its model
    force_rates: Floats  # [N/s]


@dataclass(frozen=True)
class AxisControl:
    """A loop of position for each axis, with feedforward.

    Parameters
    ----------
    drives
        The cylinders.
    gain : (n_a,)
        Speed by the error of the position [1/s]; see `axis_gain`.
    velocity
        Feed the desired speed forward.
    actuator
        Feed forward what the actuator makes of a signal: the spool comes later than its signal
        (`led`), and lets through less under the pressure of a load, which is measured; some leaks.
    mechanism
        Know that pressure ahead, from the forces of the mechanism's model, and feed forward the
        flow that compresses the oil until it is there.
    interval
        Between two signals [s]; each stands for half of it on average.
    """

    drives: HydraulicDrives
    gain: Floats
    velocity: bool = True
    actuator: bool = True
    mechanism: bool = False
    interval: float = 1e-3

    def signals(self, wanted: AxisReference, positions: Floats, load_pressures: Floats) -> Floats:
        """Signals (n_a,) within -1 and 1 at measured positions [m] and load pressures [Pa]."""
        drives = self.drives
        speeds = self.gain * (wanted.positions - positions)
        pressures = np.zeros_like(speeds)
        if self.velocity:
            speeds = speeds + wanted.velocities
        if self.actuator:
            speeds = speeds + led(drives, wanted, self.interval) - wanted.velocities
            pressures = load_pressures
        if self.mechanism:
            pressures = wanted.forces / drives.piston_area
            speeds = speeds + wanted.force_rates / drives.stiffness
        flows = drives.piston_area * speeds + drives.leakage * pressures
        return signals_of_flows(drives, flows, pressures)


@dataclass(frozen=True)
class ForceControl:
    """Makes forces by a loop of pressure.

    The flow that the moving piston takes is fed forward by a speed, what is left changes the
    pressure. `rate` (n_a,) [1/s]: how fast an error of the pressure shrinks.
    """

    drives: HydraulicDrives
    rate: Floats

    def signals(self, forces: Floats, velocities: Floats, load_pressures: Floats) -> Floats:
        """Signals (n_a,) within -1 and 1 for forces [N] at speeds and measured load pressures."""
        drives = self.drives
        missing = forces - drives.piston_area * load_pressures
        speeds = velocities + self.rate * missing / drives.stiffness
        flows = drives.piston_area * speeds + drives.leakage * load_pressures
        return signals_of_flows(drives, flows, load_pressures)


def axis_control(model: ClosedChainModel, interval: float, scale: float = 1.0) -> AxisControl:
    """Return loops of position with `scale` times their `axis_gain`, signals every `interval` [s].

    Raises HydraulicControlError for a robot without cylinders, or that swings on its oil.
    """
    drives = read_hydraulics(model.description)
    if drives is None:
        raise HydraulicControlError(
            f"robot '{model.description.name}' has no cylinders: its description has no "
            '`hydraulics`'
        )
    gain = np.full(model.n_a, scale * axis_gain(model, drives, interval))
    return AxisControl(drives, gain, interval=interval)


def led(drives: HydraulicDrives, wanted: AxisReference, interval: float) -> Floats:
    """Desired speeds (n_a,) [m/s], so much ahead that spools which follow signals are in time.

    The inverse of the spool and of half an interval that a signal stands for, to the second order.
    """
    angular = 2.0 * np.pi * drives.valve_natural_frequency
    lag, hold = 2.0 * drives.valve_damping / angular, 0.5 * interval
    second = 1.0 / angular**2 + lag * hold + 0.5 * hold**2
    ahead: Floats = wanted.velocities + (lag + hold) * wanted.accelerations + second * wanted.jerks
    return ahead


def signals_of_flows(drives: HydraulicDrives, flows: Floats, load_pressures: Floats) -> Floats:
    """Signals (n_a,) within -1 and 1 that let flows (n_a,) [m^3/s] through at a load [Pa]."""
    share = 1.0 - np.sign(flows) * load_pressures / drives.supply_pressure
    return np.clip(
        flows / (drives.valve_no_load_flow * np.sqrt(np.maximum(share, LEAST_SHARE))), -1.0, 1.0
    )


def axis_gain(
    model: ClosedChainModel,
    drives: HydraulicDrives,
    interval: float = 1e-3,
    margin: float = GAIN_MARGIN,
) -> float:
    """Gain [1/s] of the loops of position: by `margin` below that at which the robot swings.

    All axes together at home, with the inertia of the mechanism, the spring of the oil, leakage,
    the viscous friction of the drives and the spools, at signals every `interval` [s]. The oil
    bears the robot like a spring that little damps: a closed valve lets nothing through, so
    without leakage and viscous friction it swings with any gain, and HydraulicControlError is
    raised. Where nothing swings the gain is `MOST_GAIN` over the margin.
    """
    count = model.n_a
    matrix = inertia_matrix(model)
    inverse = np.linalg.inv(0.5 * (matrix + matrix.T))
    area, spring = np.diag(drives.piston_area), drives.stiffness / drives.piston_area**2
    angular = 2.0 * np.pi * drives.valve_natural_frequency
    frictions = [model.description.joint(name).friction for name in model.actuated_joints]
    viscous = np.diag([0.0 if each is None else each.viscous or 0.0 for each in frictions])
    none, one = np.zeros((count, count)), np.eye(count)
    # positions, velocities, load pressures, spools and their rates
    motion = np.block(
        [
            [none, one, none, none, none],
            [none, -inverse @ viscous, inverse @ area, none, none],
            [
                none,
                -np.diag(spring) @ area,
                -np.diag(spring * drives.leakage),
                np.diag(spring * drives.valve_no_load_flow),
                none,
            ],
            [none, none, none, none, one],
            [none, none, none, -np.diag(angular**2), -np.diag(2 * drives.valve_damping * angular)],
        ]
    )
    entry = np.vstack([none, none, none, none, np.diag(angular**2 / drives.largest_speed)])
    both = block_diag(motion, none)
    both[: 5 * count, 5 * count :] = entry
    passed = expm(both * interval)
    onward, driven = passed[: 5 * count, : 5 * count], passed[: 5 * count, 5 * count :]

    def swings(gain: float) -> bool:
        closed = onward.copy()
        closed[:, :count] -= gain * driven
        return bool(np.abs(np.linalg.eigvals(closed)).max() >= 1.0)

    low, high = 0.0, MOST_GAIN
    while high - low > 1e-3 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if swings(middle) else (middle, high)
        if high < 1e-3:
            raise HydraulicControlError(
                f"robot '{model.description.name}' swings on its oil with any gain"
            )
    return low / margin
