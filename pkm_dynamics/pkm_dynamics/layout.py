"""What compiled loops and generated functions agree on: constants, code, layout."""

from __future__ import annotations

from typing import NamedTuple

from pkm_dynamics.array_types import Booleans, Floats, Integers

LANES = 8  # samples that a generated function takes at once
# Newton's steps: angles [rad], lengths in units of the mechanism's size
LARGEST_STEP = 0.3
SMALLEST_STEP = 1e-5  # a path that needs shorter ones ends at a singularity
STEP_TOLERANCE = 1e-11
# Relative change of the step over one step; below `TURN_TOLERANCE`, changes are rounding errors.
LARGEST_TURN = 0.1
TURN_TOLERANCE = 1e-9
# Of closing rows that were left out as redundant; the chosen ones close with the last step.
RESIDUAL_TOLERANCE = 1e-6
COULOMB, VISCOUS, COULOMB_POSITIVE, COULOMB_NEGATIVE = 0, 1, 2, 3  # kinds of friction parameters
# Iteration of loads that depend on the friction that they make:
LOAD_TOLERANCE = 1e-12  # of the largest load of a sample: where it ends
LOAD_ROUNDED = 1e-8  # a change this small that falls no further is rounding
LOAD_ENDLESS = 1e12  # [N] no joint carries this
LOAD_ITERATIONS = 200  # a factor of 0.87 each reaches the tolerance; slower is as good as locked
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


class LoadLayout(NamedTuple):
    """What the loop over loads of joints needs to know of a mechanism.

    Friction terms (n_t) are those without loads, then those of the n_l load factors.
    """

    parent: Integers  # (n_b,)
    joint_kind: Integers
    coordinate: Integers
    scalar_index: Integers
    origin_position: Floats  # (n_b, 3)
    origin_rotation: Floats  # (n_b, 3, 3)
    axis: Floats  # (n_b, 3)
    body: Integers  # (n_v,) whose joint a coordinate belongs to
    row_parent: Integers  # (n_r,)
    row_child: Integers
    row_constraint: Integers
    row_is_point: Booleans
    row_parent_direction: Floats  # (n_r, 3)
    row_held: Floats  # (n_r, 3) point or direction that the child holds
    row_sign: Floats  # (n_r, n_v)
    rows: Integers  # (n_d,) chosen closing rows
    passive: Integers  # (n_d,) coordinates without a drive
    actuated: Integers  # (n_a,)
    inertial_body: Integers  # (k,) of the first 10 k parameters
    gravity: Floats  # (3,)
    transition_velocity: float
    own_terms: int  # n_t - n_l
    term_kind: Integers  # (n_t,)
    term_parameter: Integers
    term_coordinate: Integers  # -1: none
    term_row: Integers  # -1: none
    term_axis: Floats  # (n_t, 3)
    term_has_axis: Booleans
    term_slides: Booleans
    term_shaft: Floats  # (n_t, n_v)
    term_shaft_size: Floats
