"""Small closed chains without symmetry, one for each kind of closing constraint."""

from __future__ import annotations

import numpy as np

import pkm_description
from pkm_description.rotation_formats import rotation_from_rpy

#: Joints of the serial chain and those of them that are actuated.
CHAINS = {
    'spherical': (6, (1, 2, 3)),
    'universal': (6, (1, 2)),
    'revolute': (6, (4,)),
    'prismatic': (6, (1,)),
    'fixed': (7, (1,)),
}
AXES = ('0 0 1', '0 1 0', '1 0 0', '0.6 0 0.8', '0 0.8 0.6', '0.8 0.6 0', '0 0 1')
STEPS = (
    (0.1, 0.0, 0.2),
    (0.3, 0.05, 0.0),
    (0.0, 0.25, 0.1),
    (-0.1, 0.2, -0.15),
    (0.05, -0.1, 0.25),
    (0.2, 0.1, 0.05),
    (-0.15, 0.1, 0.1),
)


#: Roll, pitch and yaw of the closing frames on parent and child, of a chain with turned ones.
TURNED = ((0.4, -0.7, 1.1), (-0.9, 0.3, 0.6))


def closed_chain(kind: str, turned: bool = False) -> pkm_description.Description:
    """Return a serial chain of revolute joints whose tip is closed to the base.

    Where they are `turned`, the frames of the constraint have other directions than the links
    and a prismatic one starts elsewhere; the mechanism stays the same.
    """
    joints, actuated = CHAINS[kind]
    tip = [sum(step[k] for step in STEPS[:joints]) for k in range(3)]
    parts = ['<link name="base_link"/>']
    parent = 'base_link'
    for i in range(joints):
        child = 'platform' if i == joints - 1 else f'link{i + 1}'
        x, y, z = STEPS[i]
        parts.append(f'''
        <link name="{child}"><inertial>
          <origin xyz="{0.02 * i} 0.05 {-0.03 + 0.01 * i}" rpy="0.1 {0.2 * i} 0"/>
          <mass value="{1.5 + 0.3 * i}"/>
          <inertia ixx="0.021" iyy="0.017" izz="{0.013 + 0.001 * i}" ixy="0.002" ixz="-0.001"
                   iyz="0.0015"/></inertial></link>
        <joint name="joint{i + 1}" type="revolute">
          <parent link="{parent}"/><child link="{child}"/>
          <origin xyz="{x} {y} {z}" rpy="0 0 0"/><axis xyz="{AXES[i]}"/>
          <limit lower="-3" upper="3" effort="500" velocity="10"/></joint>''')
        parent = child
    offset = (0.06, -0.04, 0.09)
    closing = [a + b for a, b in zip(tip, offset, strict=True)]
    axes = [[0.6, 0.0, 0.8], [0.8, 0.0, -0.6] if kind == 'universal' else [0.6, 0.0, 0.8]]
    frames = [(0.0, 0.0, 0.0)] * 2
    if turned and kind == 'prismatic':  # which is then not at its zero
        closing = [a - 0.07 * b for a, b in zip(closing, axes[0], strict=True)]
    if turned:  # frames that a constraint keeps parallel are turned alike
        frames = [TURNED[0], TURNED[0 if kind in ('fixed', 'prismatic') else 1]]
        axes = [rotation_from_rpy(f).T @ axis for f, axis in zip(frames, axes, strict=True)]
    rpy = [' '.join(map(str, frame)) for frame in frames]
    xyz = [' '.join(map(repr, np.array(axis).tolist())) for axis in axes]
    actuators = ''.join(
        f'<joint name="joint{i}"><command_interface name="effort"/>'
        '<param name="force_constant">2.0</param></joint>'
        for i in actuated
    )
    parts.append(f'''
    <constraint name="closure" type="{kind}">
      <parent link="base_link"/>
      <parent_origin xyz="{closing[0]} {closing[1]} {closing[2]}" rpy="{rpy[0]}"/>
      <parent_axis xyz="{xyz[0]}"/>
      <child link="platform"/>
      <child_origin xyz="{offset[0]} {offset[1]} {offset[2]}" rpy="{rpy[1]}"/>
      <child_axis xyz="{xyz[1]}"/>
    </constraint>
    <ros2_control name="drives" type="system">{actuators}</ros2_control>''')
    yaml = f'home: {{position: {tip}, rpy: [0, 0, 0]}}\ngravity: [0, 0, -9.81]\n'
    return pkm_description.loads(f'<robot name="chain">{"".join(parts)}</robot>', yaml)
