"""What compiled loops and generated functions agree on: constants, code, layout."""

from __future__ import annotations

from typing import NamedTuple

from pkm_dynamics.array_types import Floats, Integers

LANES = 8  # samples that a generated function takes at once
LARGEST_STEP = 0.3  # of Newton: angles [rad], lengths in units of the mechanism's size
STEP_TOLERANCE = 1e-11
LEAST_DETERMINANT = 1e-11  # by that at home; what is smaller is rounding errors: singular


class Layout(NamedTuple):
    """What the compiled loops need to know of a mechanism: the few arrays that they index."""

    n_r: int  # closing rows
    n_v: int  # velocity coordinates
    n_p: int  # parameters
    inertial_bodies: int
    other_parameters: Integers  # friction and rotor parameters, in the order of their columns
    joint_kind: Integers
    coordinate: Integers
    scalar_index: Integers
    floating_body: int
    independent: Integers
    actuated: Integers
    actuated_scalar: Integers
    independent_is_platform: bool
    component_start: Integers
    component_coordinates: Integers
    component_rows: Integers
    component_determinant: Floats  # at home
    actuation_determinant: float
    length_scale: float


class Code(NamedTuple):
    """Addresses of the functions of `programs` (0: not compiled) and how they are used."""

    inline: bool  # whether all components are solved inside the functions
    newton: int = 0
    approach: int = 0
    branch: int = 0
    pose: int = 0
    twist: int = 0
    systems: int = 0
    kinematics: int = 0
    actuated: int = 0
    dynamics: int = 0
    bias: int = 0
    platform: int = 0
    forces: int = 0
    columns: int = 0
    inertial: int = 0
