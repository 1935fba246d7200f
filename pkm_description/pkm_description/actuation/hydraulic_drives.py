"""Hydraulic drives: cylinders with servo valves, as the sidecar describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pkm_description.description import Array, Description, frozen
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, number

HYDRAULIC_KEYS = (
    *('supply_pressure', 'piston_area', 'chamber_volume', 'bulk_modulus', 'leakage'),
    *('valve_no_load_flow', 'valve_natural_frequency', 'valve_damping'),
)
MAY_BE_ZERO = ('leakage',)


@dataclass(frozen=True)
class HydraulicDrives:
    """Cylinders with equal areas and four-way valves of all drives; arrays (n_a,).

    Attributes
    ----------
    supply_pressure : [Pa]; the return has none
    piston_area : [m^2] of either side
    chamber_volume : [m^3] of both chambers together, with their pipes
    bulk_modulus : [Pa] of the oil
    leakage : [m^3/(s Pa)] past the piston
    valve_no_load_flow : [m^3/s] at full signal without a load
    valve_natural_frequency : [Hz] of the spool
    valve_damping : of the spool, 1 where it just does not overshoot
    middle : [m] of the stroke, where both chambers are alike
    """

    supply_pressure: Array
    piston_area: Array
    chamber_volume: Array
    bulk_modulus: Array
    leakage: Array
    valve_no_load_flow: Array
    valve_natural_frequency: Array
    valve_damping: Array
    middle: Array

    @property
    def largest_force(self) -> Array:
        """Force (n_a,) [N] of a piston with all of the supply on one side."""
        return self.supply_pressure * self.piston_area

    @property
    def largest_speed(self) -> Array:
        """Speed (n_a,) [m/s] at full signal without a load."""
        return self.valve_no_load_flow / self.piston_area

    @property
    def stiffness(self) -> Array:
        """Stiffness (n_a,) [N/m] of the oil with closed valves, in the middle of the stroke."""
        return 4.0 * self.bulk_modulus * self.piston_area**2 / self.chamber_volume


def read_hydraulics(description: Description) -> HydraulicDrives | None:
    """Read and check the section `hydraulics`; None where there is none.

    Raises DescriptionError naming the key, or a drive that is no cylinder with two ends.
    """
    if 'hydraulics' not in description.sidecar:
        return None
    section = known_keys(description.sidecar['hydraulics'], 'hydraulics', HYDRAULIC_KEYS)
    values = {key: _of_drives(description, section, key) for key in HYDRAULIC_KEYS}
    limits = []
    for name in description.actuated_joints:
        joint = description.joint(name)
        ends = joint.limit.lower, joint.limit.upper
        if joint.type != 'prismatic' or not np.all(np.isfinite(ends)):
            raise DescriptionError(
                f"hydraulics: joint '{name}' is no cylinder, which is prismatic with two ends of "
                'its stroke'
            )
        limits.append(ends)
    lower, upper = np.array(limits).T
    drives = HydraulicDrives(**values, middle=frozen(0.5 * (lower + upper)))
    swept = drives.piston_area * (upper - lower)
    if np.any(drives.chamber_volume <= swept):
        worst = int(np.argmax(swept - drives.chamber_volume))
        raise DescriptionError(
            f'hydraulics.chamber_volume of {drives.chamber_volume[worst]:g} m^3 is not more than '
            f"the piston of joint '{description.actuated_joints[worst]}' sweeps "
            f'({swept[worst]:g} m^3)'
        )
    return drives


def _of_drives(description: Description, section: Mapping[str, object], key: str) -> Array:
    """Return (n_a,) values given as one number or as {joint: number}."""
    names, where = description.actuated_joints, f'hydraulics.{key}'
    given = section.get(key, 0.0 if key in MAY_BE_ZERO else None)
    if given is None:
        raise DescriptionError(f"hydraulics has no '{key}'")
    table = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    known_keys(table, where, names)
    found = []
    for name in names:
        if name not in table:
            raise DescriptionError(f"{where} has no '{name}'")
        value = number(table[name], f'{where}.{name}' if given is table else where)
        if value < 0.0 or (value == 0.0 and key not in MAY_BE_ZERO):
            least = 'not be negative' if key in MAY_BE_ZERO else 'be positive'
            raise DescriptionError(f'{where} must {least}, not {value:g}')
        found.append(value)
    return frozen(np.array(found))
