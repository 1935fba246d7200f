"""What is allowed in a description and still worth a second look."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pkm_description.assembly import Assembly
from pkm_description.description import Description, Inertial, Joint, Link
from pkm_description.errors import listed
from pkm_description.mobility import actuation_margin, constraint_rows, rounded_angles
from pkm_description.spins.round_bodies import asymmetry, off_axis

NEAR_SINGULAR = 1e-3
NEAR_LIMIT = 0.02  # of the stroke
GYRATION = (1e-3, 3.0)  # usual radii of gyration in units of the mechanism's size
FAR_COM = 5.0  # centres of mass further from their frame than this, in the same unit
USUAL_GRAVITY = (9.7, 9.9)
ROUND = 1e-3  # part by which a body that spins idly may deviate from a round one unsaid


def remarks(description: Description) -> list[str]:
    """Warnings about a checked description, each one sentence that names its elements."""
    assembly = Assembly(description)
    found = list(description.warnings)
    found += _about_drives(description)
    found += _about_passive_joints(description)
    found += _about_bodies(description, assembly)
    found += _about_spins(description)
    found += _about_home(description, assembly)
    found += _about_designs(description)
    size = float(np.linalg.norm(description.gravity))
    if not USUAL_GRAVITY[0] <= size <= USUAL_GRAVITY[1]:
        found.append(f'gravity is {size:.4g} m/s^2')
    return found


def principal_moments(inertial: Inertial) -> NDArray[np.float64]:
    """Principal moments (3,) [kg m^2] about the centre of mass, ascending."""
    return np.asarray(np.linalg.eigvalsh(inertial.inertia))


def physical_state(link: Link) -> str:
    """Say what kind of body a link is: physical, at the limit, a point, massless."""
    if link.inertial is None or link.inertial.mass == 0.0:
        return 'massless'
    moments = principal_moments(link.inertial)
    if moments[2] <= 0.0:
        return 'point mass'
    # At the limit of the triangle inequality all mass lies in a plane.
    return 'flat' if moments[0] + moments[1] < moments[2] * (1.0 + 1e-9) else 'yes'


def _about_drives(description: Description) -> list[str]:
    drives = [actuator for actuator in description.actuators if not actuator.free]
    joints = [description.joint(actuator.joint) for actuator in drives]
    smooth = [
        j.name
        for j in joints
        if j.friction is None or (j.friction.coulomb == 0.0 and j.friction.viscous == 0.0)
    ]
    return _said(
        {
            'no force constant, so currents cannot become forces': [
                a.joint for a in drives if not np.isfinite(a.force_constant)
            ],
            'no stroke limit, so strokes are not checked': [
                j.name for j in joints if not np.isfinite(j.limit.upper - j.limit.lower)
            ],
            'no velocity limit, so speeds are not checked': [
                j.name for j in joints if not np.isfinite(j.limit.velocity)
            ],
            'no nominal friction in a drive': smooth,
            'degrees of freedom without a drive (the robot can be identified, not commanded)': (
                description.free_joints
            ),
        }
    )


def _said(findings: Mapping[str, list[str]]) -> list[str]:
    """One remark for each finding that has names."""
    return [f'{text}: {listed(names)}' for text, names in findings.items() if names]


def _about_passive_joints(description: Description) -> list[str]:
    driven = set(description.actuated_joints)
    endless = [
        joint.name
        for joint in description.joints
        if joint.is_scalar
        and joint.name not in driven
        and joint.type != 'continuous'
        and not np.isfinite(joint.limit.upper - joint.limit.lower)
    ]
    return _said({'passive joints without limits': endless})


def _about_bodies(description: Description, assembly: Assembly) -> list[str]:
    tree, size = assembly.tree, assembly.size
    moving = {
        name: description.link(name)
        for body, name in enumerate(tree.body_names)
        if np.any(tree.ancestors[body])
    }
    fixed = {joint.child for joint in description.joints if joint.type == 'fixed'}
    states = {name: physical_state(link) for name, link in moving.items() if name not in fixed}
    found = _said(
        {
            'moving bodies without mass': [n for n, state in states.items() if state == 'massless'],
            'bodies with mass but without inertia': [
                name for name, state in states.items() if state == 'point mass'
            ],
        }
    )
    for name, link in moving.items():
        if link.inertial is None or link.inertial.mass == 0.0:
            continue
        moments = principal_moments(link.inertial)
        radius = float(np.sqrt(0.5 * np.sum(moments) / link.inertial.mass)) / size
        if name not in fixed and radius > 0.0 and not GYRATION[0] <= radius <= GYRATION[1]:
            found.append(
                f"link '{name}' has the radius of gyration {radius * size:.3g} m in a mechanism of "
                f'{size:.3g} m: are mass and inertia in kg and kg m^2?'
            )
        distance = float(np.linalg.norm(link.inertial.com))
        if distance > FAR_COM * size:
            found.append(
                f"link '{name}' has its centre of mass {distance:.3g} m from its frame in a "
                f'mechanism of {size:.3g} m: is it in metres?'
            )
    return found


def _about_spins(description: Description) -> list[str]:
    """Bodies that spin idly and are not quite round: their pendulum motion is left out."""
    oval = []
    for spin in description.idle_spins:
        body = description.link(spin.body).inertial
        if body is not None and body.mass > 0.0:
            size = max(off_axis(body, spin.point, spin.axis), asymmetry(body, spin.axis))
            oval += [spin.body] if size > ROUND else []
    return _said({'idle spins of bodies that are not quite round, counted as if they were': oval})


def _about_home(description: Description, assembly: Assembly) -> list[str]:
    home = assembly.home()
    found = []
    if 'home' not in description.sidecar:
        found.append('no home is given: the loader has found a closed configuration itself')
    margin = actuation_margin(assembly, home)
    if margin < NEAR_SINGULAR:
        found.append(
            f'home is close to a singularity: the locked drives hold the robot with a relative '
            f'singular value of {margin:.1e}'
        )
    near = [
        joint.name
        for joint in description.joints
        if joint.is_scalar and _near_limit(joint, description.home_joints[joint.name])
    ]
    found += _said({f'at home within {NEAR_LIMIT:.0%} of a limit': near})
    redundant = [
        f'{item.name} ({item.redundant} of {item.rows})'
        for item in constraint_rows(assembly)
        if item.redundant
    ]
    if redundant:
        found.append(
            f'redundant closing rows (reaction forces there are not unique): {listed(redundant)}'
        )
        found += [f'{item} (in an over-constrained loop)' for item in rounded_angles(assembly)]
    return found


def _near_limit(joint: Joint, value: float) -> bool:
    limit = joint.limit
    stroke = limit.upper - limit.lower
    if not np.isfinite(stroke):
        return False
    return min(value - limit.lower, limit.upper - value) < NEAR_LIMIT * stroke


def _about_designs(description: Description) -> list[str]:
    """Links that are equal to the last digit and not declared to be of one design."""
    declared = {name for group in description.same_design for name in group}
    groups: dict[tuple[float, ...], list[str]] = {}
    for link in description.links:
        if link.inertial is not None and link.inertial.mass > 0.0 and link.name not in declared:
            key = tuple(link.inertial.standard_parameters().tolist())
            groups.setdefault(key, []).append(link.name)
    text = 'equal inertias, but not declared `same_design`: {}'
    return [text.format(listed(names)) for names in groups.values() if len(names) > 1]
