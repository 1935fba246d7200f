"""A description whose URDF and YAML say other parameters, as those of an identified robot."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import yaml
from lxml import etree

from pkm_description import Description, DescriptionError, Friction
from pkm_description.description import BOTH_WAYS, Constraint, Joint
from pkm_description.drives import terms_mapping
from pkm_description.exporters.exported import number, numbers
from pkm_description.friction import joint_frictions
from pkm_description.loader import loads
from pkm_description.spins.round_bodies import rounding
from pkm_description.xml_elements import parse_xml
from pkm_dynamics.array_types import Floats
from pkm_dynamics.drive_forces import is_drive_entry, terms_of_entries
from pkm_dynamics.friction_laws import LAWS
from pkm_dynamics.parameters.groups import relation_holds
from pkm_dynamics.parameters.parameter_table import INERTIAL_NAMES, LOAD

Parameters = Mapping[str, float]
# Sources of numbers that change, by the last part of their keys.
REPLACED = (
    *('mass', 'com', 'inertia', 'coulomb', 'damping', 'viscous', 'friction', 'load'),
    *('rotor', 'rotor_inertia', 'force_constant', 'cogging', 'stribeck'),
)
GEOMETRY = ('zero_parameters', 'equal_parameters')  # what a body's shape makes of its parameters
STATEMENTS = ('same_design', *GEOMETRY)
UNSAID = ('cogging', 'stribeck')  # of `simulation`: what a plant has beyond the parameters


def rewritten(
    description: Description,
    parameters: Parameters,
    force_constants: Parameters | None = None,
    source: str = 'identified',
) -> Description:
    """Return the robot with other standard parameters, said by its URDF and YAML.

    Parameters
    ----------
    description
        The robot, with all friction and forces of drives that parameters are given of.
    parameters
        By name, as `IdentificationResult.controller_parameters` has them: of bodies that real ones
        can have, of friction, rotors and drives. What is not given stays. The Stribeck friction of
        drives becomes that of the simulated plant; other friction laws are left out. Bodies that
        spin idly are written as round ones with the same forces.
    force_constants
        By joint [N/A, N m/A]; those not given stay.
    source
        Where the numbers come from, for the section `sources`.

    Returns
    -------
    Description
        Another robot, of another digest. Its frames, joints, limits and calibration are the same.
        Groups of one design, zero and equal parameters stay where the new values agree with them,
        and so do reduced models, with all that they are made of.

    Raises
    ------
    DescriptionError
        No body can have these parameters; names the link.
    """
    robot = parse_xml(description.urdf, f"URDF of robot '{description.name}'")
    sidecar = copy.deepcopy(dict(description.sidecar))
    parameters = _with_round_bodies(description, parameters)
    _write_bodies(robot, parameters)
    _write_friction(robot, sidecar, description, parameters)
    _write_rotors(sidecar, description, parameters)
    _write_drives(sidecar, description, parameters)
    _write_motors(sidecar, description, parameters)
    _write_constants(robot, sidecar, description, force_constants or {})
    _write_simulation(sidecar, parameters)
    _write_sources(sidecar, source)
    _drop_contradictions(sidecar, description, parameters)
    text = str(etree.tostring(robot, pretty_print=True, encoding='unicode'))
    beside = yaml.safe_dump(sidecar, sort_keys=False, allow_unicode=True, width=110)
    found = loads(text, beside, f"rewritten URDF of robot '{description.name}'")
    return replace(found, calibration=description.calibration)


def _with_round_bodies(description: Description, parameters: Parameters) -> Parameters:
    """Let bodies that spin idly be round: the forces are the same, and no others can be read."""
    found = dict(parameters)
    for spin in description.idle_spins:
        names = [f'{spin.body}.{field}' for field in INERTIAL_NAMES]
        if spin.axis.any() and names[0] in parameters:
            values = rounding(spin.point, spin.axis) @ [parameters[name] for name in names]
            found.update(zip(names, values.tolist(), strict=True))
    return found


def _write_bodies(robot: etree._Element, parameters: Parameters) -> None:
    for link in robot.findall('link'):
        name = link.get('name')
        if f'{name}.m' not in parameters:
            continue
        values = np.array([parameters[f'{name}.{field}'] for field in INERTIAL_NAMES])
        for old in link.findall('inertial'):
            link.remove(old)
        mass, com, inertia = _body(values, str(name))
        element = etree.Element('inertial')
        link.insert(0, element)
        etree.SubElement(element, 'origin', xyz=numbers(com), rpy='0 0 0')
        etree.SubElement(element, 'mass', value=number(mass))
        keys = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        upper = inertia[np.triu_indices(3)]
        entries = {key: number(value) for key, value in zip(keys, upper, strict=True)}
        etree.SubElement(element, 'inertia', entries)


def _body(values: Floats, link: str) -> tuple[float, Floats, Floats]:
    """Mass, centre (3,) and inertia (3, 3) about it of a body with these parameters (10,)."""
    mass, moments = float(values[0]), values[1:4]
    inertia = np.zeros((3, 3))
    inertia[np.triu_indices(3)] = values[4:]
    inertia = inertia + np.triu(inertia, 1).T
    if mass == 0.0 and not moments.any():
        return 0.0, np.zeros(3), inertia
    if not mass > 0.0:
        raise DescriptionError(f"link '{link}': no body has a mass of {mass:g} kg")
    com = moments / mass
    return mass, com, inertia - mass * (com @ com * np.eye(3) - np.outer(com, com))


def _changed(name: str, friction: Friction, parameters: Parameters) -> dict[str, float]:
    """Values of a friction by label, new ones where they are given."""
    found = friction.parameters | ({LOAD: friction.load} if friction.load is not None else {})
    return {label: float(parameters.get(f'{name}.{label}', old)) for label, old in found.items()}


def _mapping_of(name: str, friction: Friction, parameters: Parameters) -> dict[str, Any]:
    """Friction as a YAML says it fully."""
    values = _changed(name, friction, parameters)
    renamed = {('coulomb' if key == BOTH_WAYS[0] else key): each for key, each in values.items()}
    return {'model': friction.model, **renamed}


def _write_friction(
    robot: etree._Element, sidecar: dict[str, Any], description: Description, parameters: Parameters
) -> None:
    """Write friction into the URDF, and into the YAML where it says more or said it before."""
    declared = dict(sidecar.get('friction') or {})
    items: list[Joint | Constraint] = [*description.joints, *description.constraints]
    of_constraints = {item.name for item in description.constraints}
    elements = {each.get('name'): each for each in robot if each.tag in ('joint', 'constraint')}
    for item in items:
        friction = item.friction
        if friction is None:
            continue
        values = _changed(item.name, friction, parameters)
        level = [values[key] for key in ('coulomb', *BOTH_WAYS) if key in values]
        said = {'friction': sum(level) / len(level)} if level else {}
        said |= {'damping': values['viscous']} if 'viscous' in values else {}
        element = elements[item.name]
        dynamics = element.find('dynamics')
        if dynamics is None:
            dynamics = etree.SubElement(element, 'dynamics')
        for key in ('friction', 'damping'):
            dynamics.attrib.pop(key, None)
        for key, value in said.items():
            dynamics.set(key, number(value))
        if not dynamics.attrib:
            element.remove(dynamics)
        more = friction.is_asymmetric or friction.load is not None
        if more or item.name in declared or item.name in of_constraints:
            declared[item.name] = _mapping_of(item.name, friction, parameters)
    if declared:
        sidecar['friction'] = declared


def _write_rotors(
    sidecar: dict[str, Any], description: Description, parameters: Parameters
) -> None:
    rotors = {
        item.joint: float(parameters.get(f'{item.joint}.rotor', item.rotor_inertia))
        for item in description.actuators
        if item.rotor_inertia is not None
    }
    if rotors:
        sidecar['rotor_inertia'] = rotors


def _write_drives(
    sidecar: dict[str, Any], description: Description, parameters: Parameters
) -> None:
    entries = {name: value for name, value in parameters.items() if is_drive_entry(name)}
    found = terms_of_entries(entries, description.driven_joints)
    sidecar.pop('drives', None)
    if found:
        sidecar['drives'] = {joint: terms_mapping(terms) for joint, terms in found.items()}


def _write_motors(
    sidecar: dict[str, Any], description: Description, parameters: Parameters
) -> None:
    """Write rotors and friction of motors behind transmissions: only the YAML has these."""
    for each in description.transmissions:
        given = sidecar.get('transmissions', {}).get(each.name, {}).get('motors')
        for motor in each.motors if isinstance(given, dict) else ():
            own = dict(given[motor.name] or {})
            if motor.rotor_inertia is not None:
                value = parameters.get(f'{motor.name}.rotor', motor.rotor_inertia)
                own['rotor_inertia'] = float(value)
            if motor.friction is not None:
                own['friction'] = _mapping_of(motor.name, motor.friction, parameters)
            given[motor.name] = own


def _write_constants(
    robot: etree._Element, sidecar: dict[str, Any], description: Description, constants: Parameters
) -> None:
    """Write force constants of joints, and of the motors that they follow from."""
    for each in description.transmissions:
        given = sidecar.get('transmissions', {}).get(each.name, {}).get('motors')
        for place, (joint, motor) in enumerate(zip(each.joints, each.motors, strict=True)):
            own = given.get(motor.name) if isinstance(given, dict) else None
            if joint in constants and own and 'force_constant' in own:
                if each.coupled[place]:
                    message = f"joint '{joint}' is moved by several motors: its force constant"
                    raise DescriptionError(f'{message} is that of none of them')
                size = abs(float(each.matrix[place, place]))
                own['force_constant'] = float(constants[joint]) * size
    for element in robot.iterfind('ros2_control/joint'):
        joint = element.get('name')
        params = [p for p in element.findall('param') if p.get('name') == 'force_constant']
        if joint in constants:
            for old in params:
                element.remove(old)
            etree.SubElement(element, 'param', name='force_constant').text = number(
                constants[joint]
            )


def _write_simulation(sidecar: dict[str, Any], parameters: Parameters) -> None:
    """Leave out what the plant had beyond its parameters; write identified Stribeck friction."""
    section = {
        key: each for key, each in (sidecar.get('simulation') or {}).items() if key not in UNSAID
    }
    fields = LAWS['stribeck'].fields
    joints = [name.rpartition('.')[0] for name in parameters if name.endswith(f'.{fields[0]}')]
    if joints:
        section['stribeck'] = {
            joint: {
                'static': values['coulomb'] + values[fields[0]],
                'velocity': values[fields[1]],
                'exponent': values[fields[2]],
            }
            for joint in joints
            for values in [
                {key: float(parameters[f'{joint}.{key}']) for key in ('coulomb', *fields)}
            ]
        }
    sidecar.pop('simulation', None)
    if section:
        sidecar['simulation'] = section


def _write_sources(sidecar: dict[str, Any], source: str) -> None:
    """Keep the sources of what stays."""
    kept = {}
    for key, text in (sidecar.get('sources') or {}).items():
        names = [name.strip() for name in str(key).split(',')]
        own = [n for n in names if not set(n.split('.')) & set(REPLACED)]
        if own:
            kept[', '.join(own)] = text
    sidecar['sources'] = {'bodies, friction, rotors and drives': source, **kept}


def _drop_contradictions(
    sidecar: dict[str, Any], description: Description, parameters: Parameters
) -> None:
    """Leave out what the YAML says of the old parameters alone."""
    declared = {key: sidecar.pop(key, None) or [] for key in STATEMENTS}
    levels = sidecar.pop('reduced_models', None) or {}
    tests: dict[str, Callable[[Any], bool]] = {
        'same_design': lambda group: _alike(group, description, parameters),
        'zero_parameters': lambda pattern: _is_zero(pattern, parameters),
        'equal_parameters': lambda texts: _is_equal(texts, parameters),
    }
    kept = {key: [each for each in declared[key] if tests[key](each)] for key in STATEMENTS}

    def stands(level: Mapping[str, Any]) -> bool:
        """Whether a reduced model says of the new numbers what it said of the old ones."""
        needed = [*GEOMETRY] if level.get('geometry', True) else []
        needed += ['same_design'] if level.get('shared', False) else []
        own = [(key, each) for key in GEOMETRY for each in level.get(key, [])]
        return all(kept[key] == declared[key] for key in needed) and all(
            tests[key](each) for key, each in own
        )

    kept_levels = {name: level for name, level in levels.items() if stands(level or {})}
    sidecar |= {key: values for key, values in kept.items() if values}
    sidecar |= {'reduced_models': kept_levels} if kept_levels else {}


def _is_zero(pattern: str, parameters: Parameters) -> bool:
    return not any(parameters[name] for name in _matching(pattern, parameters))


def _is_equal(texts: list[str], parameters: Parameters) -> bool:
    try:
        return relation_holds(texts, parameters)
    except DescriptionError:  # it names a parameter that is not among the new ones
        return False


def _matching(pattern: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if fnmatchcase(name, pattern)]


def _alike(group: list[str], description: Description, parameters: Parameters) -> bool:
    """Whether all of a group have the same parameters, also those that are not given."""
    frictions = joint_frictions(description)
    rotors = {item.joint: item.rotor_inertia for item in description.actuators}

    def values(name: str) -> list[float]:
        given = {key: parameters[key] for key in parameters if key.rpartition('.')[0] == name}
        fields = INERTIAL_NAMES if f'{name}.m' in given else ()
        found = [given[f'{name}.{field}'] for field in fields]
        friction = frictions.get(name)
        if friction is not None:
            found += _changed(name, friction, parameters).values()
        if rotors.get(name) is not None:
            found.append(float(parameters.get(f'{name}.rotor', rotors[name] or 0.0)))
        return found

    first = values(group[0])
    return all(values(name) == first for name in group[1:])
