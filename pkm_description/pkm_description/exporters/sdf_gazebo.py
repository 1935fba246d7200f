"""What Gazebo Harmonic needs beside the model: a scene, solver and systems."""

from __future__ import annotations

from collections.abc import Iterable

from lxml import etree

from pkm_description.exporters.exported import add_text

#: Systems that every world of Gazebo needs; naming one switches its defaults off.
WORLD_SYSTEMS = (
    ('gz-sim-physics-system', 'gz::sim::systems::Physics'),
    ('gz-sim-user-commands-system', 'gz::sim::systems::UserCommands'),
    ('gz-sim-scene-broadcaster-system', 'gz::sim::systems::SceneBroadcaster'),
)
TIMESTEP = 0.001


def add_scene(world: etree._Element, redundant: bool) -> None:
    """Add physics, systems and a light to a world.

    Of Dart's solvers `dantzig` is exact, but it loses loops whose equations are redundant
    and whose axes lie askew (gazebosim/gz-physics#719). `pgs` keeps those, and loses the
    many coupled loops of a hexapod. So the closing equations decide.
    """
    physics = etree.SubElement(world, 'physics', name='dart', type='dart')
    add_text(physics, 'max_step_size', repr(TIMESTEP))
    add_text(physics, 'real_time_factor', '1.0')
    solver = etree.SubElement(etree.SubElement(physics, 'dart'), 'solver')
    add_text(solver, 'solver_type', 'pgs' if redundant else 'dantzig')
    for filename, name in WORLD_SYSTEMS:
        _plugin(world, filename, name)
    light = etree.SubElement(world, 'light', name='sun', type='directional')
    add_text(light, 'direction', '-0.5 0.2 -1.0')
    add_text(light, 'diffuse', '0.9 0.9 0.9 1')


def add_model_plugins(
    model: etree._Element, welds: Iterable[tuple[str, str, str]], driven: Iterable[str]
) -> None:
    """Add the systems of a model.

    Parameters
    ----------
    model : lxml.etree._Element
        The model.
    welds : iterable of (name, parent link, child link)
        Pairs of links that are fixed to each other at the start. `DetachableJoint` welds
        them where they stand; Dart gives each weld a part of the child link's inertia.
    driven : iterable of str
        Joints that take forces [N, N m] on
        ``/model/<model>/joint/<joint>/cmd_force``.
    """
    name = str(model.get('name'))
    for weld, parent, child in welds:
        plugin = _plugin(
            model, 'gz-sim-detachable-joint-system', 'gz::sim::systems::DetachableJoint'
        )
        add_text(plugin, 'parent_link', parent)
        add_text(plugin, 'child_model', '__model__')
        add_text(plugin, 'child_link', child)
        for topic, verb in (
            ('detach_topic', 'detach'),
            ('attach_topic', 'attach'),
            ('output_topic', 'state'),
        ):
            add_text(plugin, topic, f'/model/{name}/closure/{weld}/{verb}')
    for joint in driven:
        plugin = _plugin(
            model, 'gz-sim-apply-joint-force-system', 'gz::sim::systems::ApplyJointForce'
        )
        add_text(plugin, 'joint_name', joint)
    _plugin(model, 'gz-sim-joint-state-publisher-system', 'gz::sim::systems::JointStatePublisher')


def _plugin(parent: etree._Element, filename: str, name: str) -> etree._Element:
    return etree.SubElement(parent, 'plugin', filename=filename, name=name)
