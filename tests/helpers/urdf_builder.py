"""Write URDF texts of mechanisms from numbers, the way a stranger would by hand."""

from __future__ import annotations

import numpy as np


def numbers(values) -> str:
    """Space-separated numbers with all their digits."""
    return ' '.join(repr(float(v)) for v in np.ravel(values))


def inertial(mass: float, com, inertia) -> str:
    """An <inertial> with the inertia (3, 3) about the centre of mass."""
    i = np.asarray(inertia)
    return (
        (
            f'<inertial><origin xyz="{numbers(com)}" rpy="0 0 0"/><mass value="{mass!r}"/>'
            f'<inertia ixx="{i[0, 0]!r}" ixy="{i[0, 1]!r}" ixz="{i[0, 2]!r}" iyy="{i[1, 1]!r}" '
            f'iyz="{i[1, 2]!r}" izz="{i[2, 2]!r}"/></inertial>'
        )
        .replace('np.float64(', '')
        .replace(')"', '"')
    )


def random_inertial(rng: np.random.Generator, mass: float, size: float) -> str:
    """A body of point masses: physical by construction, without any symmetry."""
    points = size * rng.normal(size=(12, 3)) * rng.uniform(0.4, 1.0, 3)
    weights = rng.uniform(0.5, 1.5, 12)
    weights *= mass / weights.sum()
    com = weights @ points / mass
    offset = points - com
    inertia = np.einsum(
        'k,kij->ij',
        weights,
        np.einsum('ka,ka,ij->kij', offset, offset, np.eye(3))
        - np.einsum('ki,kj->kij', offset, offset),
    )
    return inertial(float(mass), com, inertia)


def joint(
    name, kind, parent, child, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=None, limit=None, dynamics=''
) -> str:
    """A <joint>; `limit` is (lower, upper, velocity, effort)."""
    parts = [
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/>'
    ]
    if axis is not None:
        parts.append(f'<axis xyz="{numbers(axis)}"/>')
    if limit is not None:
        parts.append(
            f'<limit lower="{limit[0]}" upper="{limit[1]}" velocity="{limit[2]}" '
            f'effort="{limit[3]}"/>'
        )
    return ''.join(parts) + dynamics + '</joint>'


def constraint(
    name,
    kind,
    parent,
    child,
    parent_xyz=(0, 0, 0),
    child_xyz=(0, 0, 0),
    parent_axis=None,
    child_axis=None,
    parent_rpy=(0, 0, 0),
    child_rpy=(0, 0, 0),
    dynamics='',
) -> str:
    """A <constraint> element."""
    axes = ''
    if parent_axis is not None:
        axes += f'<parent_axis xyz="{numbers(parent_axis)}"/>'
    if child_axis is not None:
        axes += f'<child_axis xyz="{numbers(child_axis)}"/>'
    return (
        f'<constraint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<parent_origin xyz="{numbers(parent_xyz)}" rpy="{numbers(parent_rpy)}"/>'
        f'<child link="{child}"/>'
        f'<child_origin xyz="{numbers(child_xyz)}" rpy="{numbers(child_rpy)}"/>{axes}{dynamics}'
        '</constraint>'
    )


def control(joints, constants=None) -> str:
    """A <ros2_control> block with an effort interface for each joint."""
    body = ''.join(
        f'<joint name="{name}"><command_interface name="effort"/><param name="force_constant">'
        f'{20.0 if constants is None else constants[k]}</param></joint>'
        for k, name in enumerate(joints)
    )
    return f'<ros2_control name="drives" type="system">{body}</ros2_control>'


def robot(name: str, parts) -> str:
    """A whole URDF document."""
    return f'<robot name="{name}">' + ''.join(parts) + '</robot>'
