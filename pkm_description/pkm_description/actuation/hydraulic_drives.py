"""Hydraulic drives: cylinders with servo valves, as the sidecar describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.description import Array, Description, frozen
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, per_drive

HYDRAULIC_KEYS = (
    *('supply_pressure', 'piston_area', 'chamber_volume', 'bulk_modulus', 'leakage'),
    *('valve_no_load_flow', 'valve_natural_frequency', 'valve_damping'),
)
MAY_BE_ZERO = ('leakage',)
# No servo valve is faster or more sluggish; a simulation would have to take ever shorter steps
MOST = {'valve_natural_frequency': 1e4, 'valve_damping': 10.0}


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
    reach : [m] from there to either end
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
    reach: Array

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

    @property
    def stiffest(self) -> Array:
        """Stiffness (n_a,) [N/m] at an end of the stroke, where one chamber is smallest."""
        filled = 2.0 * self.piston_area * self.reach / self.chamber_volume
        return self.stiffness / (1.0 - filled**2)


def read_hydraulics(description: Description) -> HydraulicDrives | None:
    """Read and check the section `hydraulics`; None where there is none.

    Raises DescriptionError naming the key, or a drive that is no cylinder with two ends: a free
    joint, a motor, a transmission; RedundantActuationError for a robot with more drives than
    degrees of freedom.
    """
    if 'hydraulics' not in description.sidecar:
        return None
    section = known_keys(description.sidecar['hydraulics'], 'hydraulics', HYDRAULIC_KEYS)
    refuse_redundant_actuation(description, 'hydraulics')
    if description.transmissions:
        raise DescriptionError('hydraulics: cylinders have no transmissions')
    limits = []
    for actuator in description.actuators:
        name, joint = actuator.joint, description.joint(actuator.joint)
        if actuator.free:
            raise DescriptionError(f"hydraulics: joint '{name}' has no drive")
        ends = joint.limit.lower, joint.limit.upper
        if joint.type != 'prismatic' or not np.all(np.isfinite(ends)):
            raise DescriptionError(
                f"hydraulics: joint '{name}' is no cylinder, which is prismatic with two ends of "
                'its stroke'
            )
        if np.isfinite(actuator.force_constant):
            raise DescriptionError(
                f"hydraulics: joint '{name}' has a force constant, as motors have"
            )
        limits.append(ends)
    values = {key: _of_drives(description, section, key) for key in HYDRAULIC_KEYS}
    lower, upper = np.array(limits).T
    reach = frozen(0.5 * (upper - lower))
    drives = HydraulicDrives(**values, middle=frozen(lower + reach), reach=reach)
    swept = drives.piston_area * (upper - lower)
    if np.any(drives.chamber_volume <= swept):
        worst = int(np.argmax(swept - drives.chamber_volume))
        raise DescriptionError(
            f'hydraulics.chamber_volume of {drives.chamber_volume[worst]:g} m^3 is not more than '
            f"the piston of joint '{description.actuated_joints[worst]}' sweeps "
            f'({swept[worst]:g} m^3)'
        )
    return drives


def hydraulic_losses(description: Description, form: str) -> list[str]:
    """Say that a format has ideal forces where the drives are cylinders."""
    if 'hydraulics' not in description.sidecar:
        return []
    return [f'drives are hydraulic cylinders, which are no part of {form}: their forces are ideal']


def _of_drives(description: Description, section: Mapping[str, object], key: str) -> Array:
    """Return (n_a,) values of a key."""
    if key not in section and key not in MAY_BE_ZERO:
        raise DescriptionError(f"hydraulics has no '{key}'")
    where = f'hydraulics.{key}'
    found = per_drive(description, section.get(key, 0.0), where)
    if np.any(found < 0.0) or (key not in MAY_BE_ZERO and not np.all(found)):
        least = 'not be negative' if key in MAY_BE_ZERO else 'be positive'
        raise DescriptionError(f'{where} must {least}, not {found.min():g}')
    if np.any(found > MOST.get(key, np.inf)):
        raise DescriptionError(f'{where} must be at most {MOST[key]:g}, not {found.max():g}')
    return frozen(found)
