"""What the parts of SDF's exporter share."""

from __future__ import annotations

from dataclasses import dataclass, field

from pkm_description.readers.sdf_content import SdfJoint, SdfLink, SdfWeld

#: Least mass [kg] and principal inertia [kg m^2] of a body in Gazebo. With a hundredth of this mass
#: and less inertia Dart's solver finds its matrix unsymmetric on the H4, whose legs have no mass:
#: it asserts and ends the server. Masses far larger weigh, inertias far smaller make the solver
#: inexact: these leave an error of 0.05 % of a force step's acceleration there.
GAZEBO_LEAST = 1e-6, 1e-6
SDF_TYPES = {
    'fixed': 'fixed',
    'revolute': 'revolute',
    'continuous': 'revolute',
    'prismatic': 'prismatic',
    'spherical': 'ball',
    'universal': 'universal',
}


@dataclass
class SdfStructure:
    """A whole model and what it does not say.

    `redundant` is the number of closing equations that follow from the others, as in a
    planar loop.
    """

    links: list[SdfLink]
    joints: list[SdfJoint]
    redundant: int
    welds: list[SdfWeld] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def unique(name: str, taken: set[str]) -> str:
    """Return the name, or the name with underscores that make it new; it is taken then."""
    while name in taken:
        name += '_'
    taken.add(name)
    return name
