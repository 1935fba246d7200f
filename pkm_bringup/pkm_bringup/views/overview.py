"""A robot in plain values: what `pkm describe` prints."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import Any

import numpy as np

from pkm_description import Constraint, Description, Joint, Link, Transmission
from pkm_description.assembly import Assembly
from pkm_description.drives import drive_mapping
from pkm_description.mobility import actuation_margin, constraint_rows
from pkm_description.remarks import physical_state, principal_moments, remarks
from pkm_description.rotation_formats import rpy_from_rotation
from pkm_dynamics import BaseParameters, ClosedChainModel


def overview(description: Description, model: ClosedChainModel) -> dict[str, Any]:
    """Return all that a description says and what follows from it; SI units.

    `model` is that of the mechanism: `pkm_dynamics.mechanism_model`.
    """
    redundant = description.redundant_actuation
    assembly = Assembly(description)
    rows = {item.name: item for item in constraint_rows(assembly)}
    moving = [bool(np.any(row)) for row in assembly.tree.ancestors]
    bodies = [link.inertial for link in description.links if link.inertial is not None]
    return {
        'name': description.name,
        'title': str(description.sidecar.get('title', '')),
        'path': str(description.path),
        **_fields(description, 'digest', 'gravity', 'base_link', 'platform'),
        'mobility': assembly.mobility(assembly.home()),
        'idle_spins': [
            _fields(spin, 'body', 'axis', 'stopped_by') for spin in description.idle_spins
        ],
        'drives': description.driven_joints,
        'redundant_drives': [] if redundant is None else list(redundant.drives),
        'free_joints': description.free_joints,
        'home': _home(model, assembly),
        'closing_rows': sum(item.rows for item in rows.values()),
        'redundant_rows': sum(item.redundant for item in rows.values()),
        'total_mass': sum(inertial.mass for inertial in bodies),
        'moving_mass': _mass(description, compress(assembly.tree.body_names, moving)),
        'links': [_link(link) for link in description.links],
        'joints': [_joint(joint, description) for joint in description.joints],
        'constraints': [
            _constraint(item, rows[item.name].rows, rows[item.name].redundant)
            for item in description.constraints
        ],
        'drive_terms': drive_mapping(description),
        'motors': [
            _motor(each, place)
            for each in description.transmissions
            for place in range(len(each.motors))
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
    rigid = int(base.is_rigid_body.sum())
    figures = {'rank': base.rank, 'rigid_body': rigid, 'friction_and_rotor': base.rank - rigid}
    if not with_expressions:
        return figures
    return figures | {
        'level': base.level,
        'parameters': base.rows(),
        'notes': base.notes(),
        'members': base.members,
        'left_out': base.dropped,
        'without_influence': base.without_influence,
        'singular_values_at_gap': list(base.singular_values_at_gap),
    }


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


def _mass(description: Description, links: Iterable[str]) -> float:
    inertials = [description.link(name).inertial for name in links]
    return float(sum(inertial.mass for inertial in inertials if inertial is not None))


def _fields(item: Any, *names: str) -> dict[str, Any]:
    """Fields of an item by name; None where there is no item."""
    return {name: getattr(item, name, None) for name in names}


def _link(link: Link) -> dict[str, Any]:
    inertial = link.inertial
    return {
        'name': link.name,
        'physical': physical_state(link),
        'mass': 0.0 if inertial is None else inertial.mass,
        **_fields(inertial, 'com', 'inertia'),
        'principal_moments': None if inertial is None else principal_moments(inertial),
    }


def _friction(item: Joint | Constraint) -> dict[str, Any]:
    model = _fields(item.friction, 'model')['model']
    return {
        'friction_model': model,
        **_fields(item.friction, 'coulomb', 'coulomb_negative', 'viscous'),
    }


def _joint(joint: Joint, description: Description) -> dict[str, Any]:
    actuator = {each.joint: each for each in description.actuators}.get(joint.name)
    role = 'passive'
    if not joint.is_scalar:
        role = joint.type
    elif actuator is not None:
        role = 'free' if actuator.free else 'drive'
    return {
        **_fields(joint, 'name', 'type', 'parent', 'child'),
        'role': role,
        'actuated': actuator is not None,
        'position': joint.origin.position,
        'rpy': rpy_from_rotation(joint.origin.rotation),
        'axis': joint.axis if joint.is_scalar else None,
        'home': description.home_joints.get(joint.name),
        **_fields(joint.limit, 'lower', 'upper', 'velocity', 'effort'),
        **_friction(joint),
        **_fields(actuator, 'force_constant', 'rotor_inertia'),
    }


def _motor(transmission: Transmission, place: int) -> dict[str, Any]:
    motor, friction = transmission.motors[place], transmission.motors[place].friction
    turns = zip(transmission.joints, transmission.inverse[place].tolist(), strict=True)
    return {
        **_fields(motor, 'name', 'force_constant', 'effort', 'velocity', 'rotor_inertia'),
        'transmission': transmission.name,
        'turns': {joint: factor for joint, factor in turns if factor},
        'friction_model': None if friction is None else friction.model,
        **_fields(friction, 'coulomb', 'coulomb_negative', 'viscous'),
    }


def _constraint(item: Constraint, rows: int, redundant: int) -> dict[str, Any]:
    content = {**_fields(item, 'name', 'type', 'parent', 'child'), 'rows': rows}
    content |= {'redundant': redundant}
    for side in ('parent', 'child'):
        origin = getattr(item, f'{side}_origin')
        content[f'{side}_position'] = origin.position
        content[f'{side}_rpy'] = rpy_from_rotation(origin.rotation)
        content[f'{side}_axis'] = getattr(item, f'{side}_axis')
    return content | _friction(item)
