"""What a simulated plant does beyond rigid bodies: friction extras, noise, limits."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from pkm_description import Description
from pkm_description.description import frozen
from pkm_description.errors import DescriptionError
from pkm_description.sidecar_sections import read_simulation
from pkm_dynamics.array_types import Floats

SWITCHES = (
    *('friction', 'drives', 'stribeck', 'cogging', 'saturation'),
    *('force_noise', 'position_noise', 'quantisation'),
)


@dataclass(frozen=True)
class Stribeck:
    """Extra friction near standstill: (static - coulomb) exp(-(|v|/velocity)^exponent).

    `static` [N, N m] is the break-away friction in place of the Coulomb value,
    `velocity` [m/s, rad/s] where it has decayed to 1/e.
    """

    joint: str
    static: float
    velocity: float
    exponent: float = 2.0


@dataclass(frozen=True)
class PlantEffects:
    """Effects of a simulated plant; every one can be switched off.

    Attributes
    ----------
    friction : bool
        Coulomb and viscous friction of the description, in all joints.
    drives : bool
        Forces of the drives by their position that the description declares: offset,
        spring, ripple.
    saturation : bool
        Actuator forces are clipped to the joints' effort limits.
    cogging_amplitude, cogging_period, cogging_phase : numpy.ndarray
        (n_a,) force ripple amplitude sin(2 pi q / period + phase) [N, N m] that acts on
        the joint, period in the unit of the joint, phase [rad]. Of the plant alone: the
        ripple that the model has too stands in `drives`.
    stribeck : tuple of Stribeck
        Stribeck friction of single joints; acts only together with `friction`.
    force_covariance : numpy.ndarray
        (n_a, n_a) covariance of the measured forces of one sample [N^2].
    position_covariance : numpy.ndarray
        (n_a, n_a) covariance of the measured positions of one sample [m^2, rad^2].
    position_resolution : float
        Step of the position sensors [m, rad]; 0 for none.
    """

    friction: bool
    drives: bool
    saturation: bool
    cogging_amplitude: Floats
    cogging_period: Floats
    cogging_phase: Floats
    stribeck: tuple[Stribeck, ...]
    force_covariance: Floats
    position_covariance: Floats
    position_resolution: float

    def __post_init__(self) -> None:
        """Copy and freeze the arrays."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, entry.name, frozen(value))

    @classmethod
    def from_description(cls, description: Description) -> PlantEffects:
        """Read the effects from the `simulation` section of a description's sidecar.

        Raises DescriptionError if a key is unknown or a value malformed; names it.
        """
        section = vars(read_simulation(description))
        stribeck = tuple(Stribeck(joint, **v) for joint, v in section['stribeck'].items())
        return cls(friction=True, drives=True, saturation=True, **{**section, 'stribeck': stribeck})

    def ideal(self) -> PlantEffects:
        """Return the effects with every one switched off: rigid bodies, exact sensors."""
        return self.switched(**dict.fromkeys(SWITCHES, False))

    def without_unmodelled(self) -> PlantEffects:
        """Return the effects without those no identified model contains: Stribeck, cogging."""
        return self.switched(stribeck=False, cogging=False)

    def switched(self, **switches: bool) -> PlantEffects:
        """Return the effects with the named ones of `SWITCHES` switched off or kept (True)."""
        unknown = sorted(set(switches) - set(SWITCHES))
        if unknown:
            raise DescriptionError(
                f"unknown plant effect '{unknown[0]}'; the effects are {', '.join(SWITCHES)}"
            )
        neutral: dict[str, tuple[str, Any]] = {
            'friction': ('friction', False),
            'drives': ('drives', False),
            'stribeck': ('stribeck', ()),
            'cogging': ('cogging_amplitude', np.zeros_like(self.cogging_amplitude)),
            'saturation': ('saturation', False),
            'force_noise': ('force_covariance', np.zeros_like(self.force_covariance)),
            'position_noise': ('position_covariance', np.zeros_like(self.position_covariance)),
            'quantisation': ('position_resolution', 0.0),
        }
        changes = dict(neutral[name] for name, kept in switches.items() if not kept)
        return replace(self, **changes)
