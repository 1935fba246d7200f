"""A robot in plain values: what `pkm describe` prints."""

from __future__ import annotations

from typing import Any

import numpy as np

from pkm_description import Actuator, Constraint, Description, Joint, Link
from pkm_description.assembly import Assembly
from pkm_description.mobility import actuation_margin, constraint_rows
from pkm_description.remarks import physical_state, principal_moments, remarks
from pkm_description.rotation_formats import rpy_from_rotation
from pkm_dynamics import BaseParameters, ClosedChainModel


def overview(model: ClosedChainModel) -> dict[str, Any]:
    """Return all that a description says and what follows from it; SI units."""
    description = model.description
    assembly = Assembly(description)
    rows = {item.name: item for item in constraint_rows(assembly)}
    moving = [bool(np.any(row)) for row in assembly.tree.ancestors]
    bodies = [link.inertial for link in description.links if link.inertial is not None]
    return {
        'name': description.name,
        'title': str(description.sidecar.get('title', '')),
        'path': str(description.path),
        'digest': description.digest,
        'gravity': description.gravity,
        'base_link': description.base_link,
        'platform': description.platform,
        'mobility': assembly.mobility(assembly.home()),
        'drives': description.driven_joints,
        'free_joints': description.free_joints,
        'home': _home(model, assembly),
        'closing_rows': sum(item.rows for item in rows.values()),
        'redundant_rows': sum(item.redundant for item in rows.values()),
        'total_mass': sum(inertial.mass for inertial in bodies),
        'moving_mass': _mass(
            description, [n for n, m in zip(assembly.tree.body_names, moving, strict=True) if m]
        ),
        'links': [_link(link) for link in description.links],
        'joints': [_joint(joint, description) for joint in description.joints],
        'constraints': [
            _constraint(item, rows[item.name].rows, rows[item.name].redundant)
            for item in description.constraints
        ],
        'same_design': [list(group) for group in description.same_design],
        'zero_parameters': list(description.zero_parameters),
        'standard_parameters': model.n_p,
        'workspace': dict(description.sidecar.get('workspace', {})),
        'benchmark_circle': dict(description.sidecar.get('benchmark_circle', {})),
        'simulation': dict(description.simulation),
        'transition_velocity': description.transition_velocity,
        'sources': description.sidecar.get('sources', {}),
        'notes': description.sidecar.get('notes', ''),
        'warnings': remarks(description),
    }


def base_figures(base: BaseParameters, with_expressions: bool) -> dict[str, Any]:
    """Return rank and, if wanted, the base parameters with their nominal values."""
    figures: dict[str, Any] = {
        'rank': base.rank,
        'rigid_body': int(base.is_rigid_body.sum()),
        'friction_and_rotor': int((~base.is_rigid_body).sum()),
    }
    if with_expressions:
        kept, dropped = base.singular_values_at_gap
        figures |= {
            'level': base.level,
            'parameters': base.rows(),
            'notes': base.notes(),
            'members': base.members,
            'left_out': base.dropped,
            'without_influence': base.without_influence,
            'singular_values_at_gap': [kept, dropped],
        }
    return figures


def ranks(model: ClosedChainModel) -> list[dict[str, Any]]:
    """Ranks of the base parameters with and without what the description declares."""
    choices = [(False, False)]
    if model.description.same_design:
        choices.append((True, False))
    if model.description.zero_parameters:
        choices.append((bool(model.description.same_design), True))
    found = []
    for shared, reduced in choices:
        base = model.base_parameters(shared=shared, reduced=reduced)
        found.append({'shared': shared, 'reduced': reduced, **base_figures(base, False)})
    return found


def _home(model: ClosedChainModel, assembly: Assembly) -> dict[str, Any]:
    configuration = assembly.home()
    residual, _ = assembly.closure(configuration)
    return {
        'declared': 'home' in model.description.sidecar,
        'position': model.home_position,
        'rotation': model.home_rotation,
        'rpy': rpy_from_rotation(model.home_rotation),
        'actuators': dict(zip(model.actuated_joints, model.home_actuators, strict=True)),
        'joints': dict(model.description.home_joints),
        'closure_gap': float(np.max(np.abs(residual), initial=0.0)),
        'singular_value': actuation_margin(assembly, configuration),
    }


def _mass(description: Description, links: list[str]) -> float:
    inertials = [description.link(name).inertial for name in links]
    return float(sum(inertial.mass for inertial in inertials if inertial is not None))


def _link(link: Link) -> dict[str, Any]:
    inertial = link.inertial
    figures: dict[str, Any] = {'name': link.name, 'physical': physical_state(link)}
    if inertial is None:
        return {**figures, 'mass': 0.0, 'com': None, 'inertia': None, 'principal_moments': None}
    return {
        **figures,
        'mass': inertial.mass,
        'com': inertial.com,
        'inertia': inertial.inertia,
        'principal_moments': principal_moments(inertial),
    }


def _friction(item: Joint | Constraint) -> dict[str, Any]:
    friction = item.friction
    if friction is None:
        return {'friction_model': None, 'coulomb': None, 'coulomb_negative': None, 'viscous': None}
    return {
        'friction_model': friction.model,
        'coulomb': friction.coulomb,
        'coulomb_negative': friction.coulomb_negative,
        'viscous': friction.viscous,
    }


def _joint(joint: Joint, description: Description) -> dict[str, Any]:
    actuators = {actuator.joint: actuator for actuator in description.actuators}
    actuator: Actuator | None = actuators.get(joint.name)
    role = 'passive'
    if not joint.is_scalar:
        role = joint.type
    elif actuator is not None:
        role = 'free' if actuator.free else 'drive'
    return {
        'name': joint.name,
        'type': joint.type,
        'role': role,
        'actuated': actuator is not None,
        'parent': joint.parent,
        'child': joint.child,
        'position': joint.origin.position,
        'rpy': rpy_from_rotation(joint.origin.rotation),
        'axis': joint.axis if joint.is_scalar else None,
        'home': description.home_joints.get(joint.name),
        'lower': joint.limit.lower,
        'upper': joint.limit.upper,
        'velocity': joint.limit.velocity,
        'effort': joint.limit.effort,
        **_friction(joint),
        'force_constant': None if actuator is None else actuator.force_constant,
        'rotor_inertia': None if actuator is None else actuator.rotor_inertia,
    }


def _constraint(item: Constraint, rows: int, redundant: int) -> dict[str, Any]:
    return {
        'name': item.name,
        'type': item.type,
        'parent': item.parent,
        'child': item.child,
        'rows': rows,
        'redundant': redundant,
        'parent_position': item.parent_origin.position,
        'parent_rpy': rpy_from_rotation(item.parent_origin.rotation),
        'parent_axis': item.parent_axis,
        'child_position': item.child_origin.position,
        'child_rpy': rpy_from_rotation(item.child_origin.rotation),
        'child_axis': item.child_axis,
        **_friction(item),
    }
