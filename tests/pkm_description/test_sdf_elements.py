"""What stands in the elements of an SDF file, read as plain XML."""

import dataclasses

import numpy as np
import pytest
import yaml
from closed_chains import closed_chain
from lxml import etree
from mechanisms import changed, four_bar, serial_arm, skew_hexapod
from transforms3d.quaternions import quat2mat

import pkm_description
from pkm_description import ExportError, Friction, Inertial, build_export
from pkm_description.description import Limit, Pose
from pkm_description.exporters.exported import poses_at_home
from pkm_description.exporters.shapes import read_shapes
from pkm_description.friction import without_friction
from pkm_description.payload import joined

NOTES = '{urn:pkm-description:sdf}'
KINDS = ('spherical', 'universal', 'revolute', 'prismatic', 'fixed')


def tree(description, form='graph'):
    return etree.fromstring(build_export(description, 'sdf', form).text.encode())


def numbers(element, path):
    return np.array([float(part) for part in element.findtext(path).split()])


def joint_of(root, name):
    return root.find(f"world/model/joint[@name='{name}']")


def test_a_world_of_gazebo_has_physics_systems_and_light():
    root = tree(four_bar(), 'gazebo')
    world = root.find('world')
    assert root.get('version') == '1.9' and world.get('name') == 'four_bar_world'
    physics = world.find('physics')
    assert dict(physics.attrib) == {'name': 'dart', 'type': 'dart'}
    assert physics.findtext('max_step_size') == '0.001'
    assert physics.findtext('real_time_factor') == '1.0'
    systems = [(p.get('filename'), p.get('name')) for p in world.findall('plugin')]
    assert systems == [
        ('gz-sim-physics-system', 'gz::sim::systems::Physics'),
        ('gz-sim-user-commands-system', 'gz::sim::systems::UserCommands'),
        ('gz-sim-scene-broadcaster-system', 'gz::sim::systems::SceneBroadcaster'),
    ]
    assert world.find('light').get('type') == 'directional'
    assert numbers(world, 'gravity').tolist() == [0.0, -9.81, 0.0]
    graph = tree(four_bar()).find('world')
    assert [element.tag for element in graph] == ['gravity', 'model']


def test_systems_of_a_model_weld_push_and_tell():
    model = tree(four_bar(), 'gazebo').find('world/model')
    welds, push, tell = model.findall('plugin')
    topic = '/model/four_bar/closure/last'
    assert welds.get('filename') == 'gz-sim-detachable-joint-system'
    assert {item.tag: item.text for item in welds} == {
        'parent_link': 'last_dummy',
        'child_model': '__model__',
        'child_link': 'rocker',
        'detach_topic': f'{topic}/detach',
        'attach_topic': f'{topic}/attach',
        'output_topic': f'{topic}/state',
    }
    assert push.get('name') == 'gz::sim::systems::ApplyJointForce'
    assert {item.tag: item.text for item in push} == {'joint_name': 'crank_joint'}
    assert tell.get('filename') == 'gz-sim-joint-state-publisher-system'
    scalar = [joint.name for joint in four_bar().joints if joint.is_scalar]
    assert [item.text for item in tell.findall('joint_name')] == scalar
    assert tree(four_bar()).find('world/model/plugin') is None


@pytest.mark.parametrize('value', [np.inf, 0.0])
def test_speed_and_effort_are_written_where_they_limit(value):
    plain = serial_arm()
    home = plain.home_joints['joint2']
    given = changed(plain, 'joints', 'joint2', limit=Limit(-1.0, 2.0, 0.5, 0.25))
    limit = joint_of(tree(given), 'joint2').find('axis/limit')
    assert float(limit.findtext('lower')) == pytest.approx(-1.0 - home)
    assert float(limit.findtext('upper')) == pytest.approx(2.0 - home)
    assert (limit.findtext('velocity'), limit.findtext('effort')) == ('0.5', '0.25')
    free = changed(plain, 'joints', 'joint2', limit=Limit(-np.inf, np.inf, value, value))
    limit = joint_of(tree(free), 'joint2').find('axis/limit')
    found = {item.tag: float(item.text) for item in limit}
    assert found == {'lower': -1e16, 'upper': 1e16}


def test_home_rotor_and_friction_are_noted_at_their_joints():
    description = changed(serial_arm(), 'actuators', 'joint2', rotor_inertia=0.25)
    description = changed(description, 'joints', 'joint1', friction=None)
    friction = Friction(coulomb=0.0, viscous=0.125)
    description = changed(description, 'joints', 'joint3', friction=friction)
    exported = build_export(description, 'sdf')
    root = etree.fromstring(exported.text.encode())
    joints = [joint_of(root, f'joint{k}') for k in (1, 2, 3)]
    homes = [float(joint.findtext(f'{NOTES}home')) for joint in joints]
    assert homes == [0.3, 0.5, -0.4]
    rotors = [joint.findtext(f'{NOTES}rotor_inertia') for joint in joints]
    assert rotors == [None, '0.25', None]
    assert exported.losses == (
        "joint 'joint2': rotor inertia 0.25 is no part of SDF (noted as pkm:rotor_inertia)",
    )
    dynamics = [joint.find('axis/dynamics') for joint in joints]
    assert dynamics[0] is None
    assert [(d.findtext('damping'), d.findtext('friction')) for d in dynamics[1:]] == [
        ('0.2', '0.5'),
        ('0.125', '0.0'),
    ]
    dry = changed(description, 'joints', 'joint3', friction=Friction(coulomb=0.5))
    found = joint_of(tree(dry), 'joint3').find('axis/dynamics')
    assert (found.findtext('damping'), found.findtext('friction')) == ('0.0', '0.5')


def test_only_a_rotor_that_turns_on_the_base_is_part_of_its_link():
    """A rotor that slides a link, or that a moving link carries, acts in other ways."""
    plain = serial_arm()
    for joint, kind, link, inside in (
        ('joint1', 'revolute', 'turret', True),
        ('joint1', 'prismatic', 'turret', False),
        ('joint2', 'revolute', 'arm', False),
    ):
        description = changed(plain, 'actuators', joint, rotor_inertia=0.5)
        description = changed(description, 'joints', joint, type=kind)
        exported = build_export(description, 'sdf')
        element = etree.fromstring(exported.text.encode()).find(f".//link[@name='{link}']/inertial")
        inertia = plain.link(link).inertial.inertia + (0.5 if inside else 0.0) * np.eye(3)
        keys = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
        found = [float(element.findtext(f'inertia/{key}')) for key in keys]
        np.testing.assert_allclose(found, inertia[np.triu_indices(3)], rtol=1e-12)
        assert float(element.findtext('mass')) == plain.link(link).inertial.mass
        np.testing.assert_array_equal(numbers(element, 'pose')[:3], plain.link(link).inertial.com)
        assert [f"joint '{joint}': rotor inertia 0.5" in loss for loss in exported.losses] == (
            [] if inside else [True]
        )


@pytest.mark.parametrize('kind', KINDS)
def test_a_constraint_as_a_joint(kind):
    """Ends, frame and axes in the frame of the child; friction as far as SDF has it."""
    friction = Friction(coulomb=0.5, viscous=0.25)
    description = changed(closed_chain(kind, True), 'constraints', 'closure', friction=friction)
    constraint = description.constraints[0]
    exported = build_export(description, 'sdf')
    root = etree.fromstring(exported.text.encode())
    found = joint_of(root, 'closure')
    assert found.get('type') == {'spherical': 'ball'}.get(kind, kind)
    assert (found.findtext('parent'), found.findtext('child')) == ('base_link', 'platform')
    np.testing.assert_array_equal(numbers(found, 'pose')[:3], constraint.child_origin.position)
    child = (poses_at_home(description)['platform'] @ constraint.child_origin).rotation
    parent = constraint.parent_origin.rotation
    axes = {
        'revolute': [constraint.child_axis],
        'prismatic': [constraint.parent_axis],
        'universal': [child.T @ parent @ constraint.parent_axis, constraint.child_axis],
    }.get(kind, [])
    assert [item.tag for item in found if item.tag.startswith('axis')] == ['axis', 'axis2'][
        : len(axes)
    ]
    for key, axis in zip(('axis', 'axis2'), axes, strict=False):
        np.testing.assert_allclose(numbers(found, f'{key}/xyz'), axis, atol=1e-12)
        limit = {item.tag: float(item.text) for item in found.find(f'{key}/limit')}
        assert limit == {'lower': -1e16, 'upper': 1e16}
        dynamics = found.find(f'{key}/dynamics')
        assert dynamics.findtext('damping') == '0.25'
        assert dynamics.findtext('friction') == ('0.0' if kind == 'universal' else '0.5')
    dry, both = 'Coulomb friction 0.5', 'Coulomb friction 0.5 and viscous friction 0.25'
    lost = {'universal': dry, 'spherical': both, 'fixed': dry}.get(kind)
    assert exported.losses == (
        () if lost is None else (f"{kind} constraint 'closure': {lost} is left out",)
    )


def test_frames_are_written_where_they_are_turned_or_moved():
    """A joint at its child's origin needs none."""
    description = four_bar()
    root = tree(description)
    assert joint_of(root, 'crank_joint').find('pose') is None
    pose = joint_of(root, 'last').find('pose')
    assert pose.get('rotation_format') == 'quat_xyzw'
    assert [float(part) for part in pose.text.split()] == [0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    turned = closed_chain('spherical', True)
    origin = turned.constraints[0].child_origin
    at_link = dataclasses.replace(origin, position=np.zeros(3))
    only_turned = changed(turned, 'constraints', 'closure', child_origin=at_link)
    assert joint_of(tree(only_turned), 'closure').find('pose') is not None


def test_the_first_constraint_of_a_floating_platform_holds_it_in_gazebo():
    """The others get dummies that share the platform with it: each a sixth."""
    description = skew_hexapod(friction=False)
    model = tree(description, 'gazebo').find('world/model')
    joints = {joint.get('name'): joint for joint in model.findall('joint')}
    children = {f'top{n}': joints[f'top{n}'].findtext('child') for n in range(1, 7)}
    assert children == {'top1': 'platform'} | {f'top{n}': f'top{n}_dummy' for n in range(2, 7)}
    whole = description.link('platform').inertial
    for name in ('platform', *(f'top{n}_dummy' for n in range(2, 7))):
        mass = model.findtext(f"link[@name='{name}']/inertial/mass")
        assert float(mass) == pytest.approx(whole.mass / 6.0)
    slider = model.findtext("link[@name='slider2']/inertial/mass")
    assert float(slider) == description.link('slider2').inertial.mass
    welds = [p for p in model.findall('plugin') if p.find('parent_link') is not None]
    dummies = [f'top{n}_dummy' for n in range(2, 7)]
    assert [p.findtext('parent_link') for p in welds] == ['drive1_end', 'drive4_end', *dummies]
    graph = tree(description).find('world/model')
    assert graph.find("link[@name='top2_dummy']") is None
    assert graph.findtext("joint[@name='top2']/child") == 'platform'


def test_a_fixed_constraint_is_a_weld_without_a_dummy():
    model = tree(closed_chain('fixed'), 'gazebo').find('world/model')
    assert model.find("joint[@name='closure']") is None
    (weld,) = (p for p in model.findall('plugin') if p.find('parent_link') is not None)
    assert weld.findtext('parent_link') == 'base_link'
    assert weld.findtext('child_link') == 'platform'
    mass = model.findtext("link[@name='platform']/inertial/mass")
    assert float(mass) == closed_chain('fixed').link('platform').inertial.mass


def test_a_rotor_of_a_sliding_joint_is_a_body_on_a_screw():
    """Slider, rotor, push rod and its end are the slider described, at its place."""
    description = skew_hexapod(friction=False)
    poses = poses_at_home(description)
    exported = build_export(description, 'sdf', 'gazebo')
    assert [line.split(',')[0] for line in exported.losses if 'screw' in line] == [
        f"joint '{name}': its rotor of {kg} kg is a body on a screw"
        for name, kg in (('drive1', 0.7), ('drive4', 1.3))
    ]
    model = etree.fromstring(exported.text.encode()).find('world/model')
    links = {link.get('name'): link for link in model.findall('link')}
    whole = None
    for name in ('slider1', 'drive1_rotor', 'drive1_rod', 'drive1_end'):
        at, mass = pose_of(links[name]), float(links[name].findtext('inertial/mass'))
        seen = poses['slider1'].inverse() @ at
        keys = ('ixx', 'ixy', 'ixz', 'ixy', 'iyy', 'iyz', 'ixz', 'iyz', 'izz')
        found = [float(links[name].findtext(f'inertial/inertia/{key}')) for key in keys]
        com = pose_of(links[name].find('inertial')).position
        body = Inertial(mass, com, np.reshape(found, (3, 3)))
        part = body.seen_from(seen.inverse())
        whole = part if whole is None else joined(whole, part)
    expected = description.link('slider1').inertial
    assert whole.mass == pytest.approx(expected.mass, rel=1e-12)
    np.testing.assert_allclose(whole.com, expected.com, atol=1e-12)
    np.testing.assert_allclose(whole.inertia, expected.inertia, atol=1e-12)
    joints = {joint.get('name'): joint for joint in model.findall('joint')}
    screw = joints['drive1_screw']
    spin = float(links['drive1_rotor'].findtext('inertial/inertia/ixx'))
    assert spin * float(screw.findtext('thread_pitch')) ** 2 == pytest.approx(0.7)
    ends = (screw.findtext('parent'), screw.findtext('child'), screw.get('type'))
    assert ends == (joints['drive1'].findtext('parent'), 'drive1_rotor', 'screw')
    assert screw.findtext('axis/xyz') == joints['drive1'].findtext('axis/xyz')
    assert links['drive1_rod'].findtext(f'{NOTES}part_of') == 'slider1'
    rubbing = changed(description, 'joints', 'drive1', friction=Friction(coulomb=3.0, viscous=7.0))
    joints = {each.get('name'): each for each in tree(rubbing, 'gazebo').iter('joint')}
    screw, drive = joints['drive1_screw'], joints['drive1']
    damping = float(screw.findtext('axis/dynamics/damping'))
    assert damping * float(screw.findtext('thread_pitch')) ** 2 == pytest.approx(7.0)
    friction = [drive.findtext(f'axis/dynamics/{key}') for key in ('damping', 'friction')]
    assert friction == ['0.0', '3.0']
    assert float(tree(description).findtext(f'.//joint/{NOTES}rotor_inertia')) == 0.7
    light = changed(description, 'links', 'slider1', inertial=None)
    losses = build_export(light, 'sdf', 'gazebo').losses
    assert any('rotor inertia 0.7 is no part of SDF' in line for line in losses)


def test_what_damping_takes_in_dart_is_named():
    def lost(robot, form='gazebo'):
        return [line for line in build_export(robot, 'sdf', form).losses if 'damping takes' in line]

    robot = pkm_description.load('msi')
    slider, platform = robot.link('leg1_slider'), robot.link('platform')
    mass = slider.inertial.mass + platform.inertial.mass / 6  # each leg carries as much
    share = 0.25 / (0.25 + mass)  # 250 N s/m in 1 ms
    (line,) = lost(robot)
    assert line.startswith(f"joint 'leg1_strut': Dart's damping takes {100 * share:.2g} % or more")
    assert 'steps of 1 ms' in line and not lost(robot, 'graph')
    turning = pkm_description.load('h4')
    (line,) = lost(turning)
    viscous = turning.joint('arm2_joint').friction.viscous
    (rotor,) = [a.rotor_inertia for a in turning.actuators if a.joint == 'arm2_joint']
    share = 1e-3 * viscous / rotor  # arms and rods have no mass
    assert f"'arm2_joint': Dart's damping takes {100 * share / (1 + share):.1f}" in line
    assert not lost(without_friction(robot)) and not lost(pkm_description.load('serial_arm'))


def pose_of(element):
    x, y, z, *turn = (float(part) for part in element.findtext('pose').split())
    return Pose(np.array([x, y, z]), quat2mat([turn[3], *turn[:3]]))


def test_gazebo_gets_no_body_below_what_its_solver_bears():
    description = changed(
        serial_arm(),
        'links',
        'arm',
        inertial=Inertial(1e-7, np.array([0.1, 0.0, 0.0]), np.diag([0.0, 1e-9, 1e-9])),
    )
    exported = build_export(description, 'sdf', 'gazebo')
    assert exported.losses[-1].startswith("link 'arm': its inertia is raised to at least 1e-06 kg")
    inertial = etree.fromstring(exported.text.encode()).find(".//link[@name='arm']/inertial")
    assert float(inertial.findtext('mass')) == 1e-6
    found = [float(inertial.findtext(f'inertia/{key}')) for key in ('ixx', 'iyy', 'izz')]
    np.testing.assert_allclose(found, [1e-6, 1.001e-6, 1.001e-6], rtol=1e-12)
    plain = etree.fromstring(build_export(description, 'sdf').text.encode())
    assert float(plain.findtext(".//link[@name='arm']/inertial/mass")) == 1e-7


def test_names_that_sdf_reserves_or_shares():
    """Colons part models, two underscores at both ends are SDF's own, and one space is for all."""
    renamed = {
        'turret': 'a::b',
        'arm': '__arm__',
        'joint1': '__half',
        'joint2': '__arm__',
        'joint3': 'world_to_base_link',
    }
    plain = serial_arm()
    text, side = plain.urdf, plain.yaml_text
    for old, new in renamed.items():
        text = text.replace(f'"{old}"', f'"{new}"')
        side = side.replace(f'{old}:', f'"{new}":')
    exported = build_export(pkm_description.loads(text, side), 'sdf')
    model = etree.fromstring(exported.text.encode()).find('world/model')
    links = [link.get('name') for link in model.findall('link')]
    assert links == ['base_link', 'a_b', '__arm__link', 'platform']
    joints = [joint.get('name') for joint in model.findall('joint')]
    assert joints == ['world_to_base_link_', '__half', '__arm__joint', 'world_to_base_link']
    assert exported.losses == (
        "link 'a::b' is named 'a_b'",
        "link '__arm__' is named '__arm__link'",
        "joint '__arm__' is named '__arm__joint'",
    )
    ends = [(j.findtext('parent'), j.findtext('child')) for j in model.findall('joint')]
    assert ends == [
        ('world', 'base_link'),
        ('base_link', 'a_b'),
        ('a_b', '__arm__link'),
        ('__arm__link', 'platform'),
    ]


def described(shapes, materials=''):
    plain = four_bar()
    text = plain.urdf.replace('<link name="crank">', f'<link name="crank">{shapes}')
    return pkm_description.loads(text.replace('</robot>', f'{materials}</robot>'), plain.yaml_text)


def test_shapes_as_they_are_read():
    red = '<material name="red"><color rgba="1 0 0 0.5"/></material>'
    box = '<geometry><box size="1 2 3"/></geometry>'
    description = described(
        f'<collision><origin xyz="1 2 3" rpy="0 0 0.5"/>{box}</collision>'
        f'<visual>{box}<material name="red"/></visual>'
        f'<visual>{box}<material name="red"><color rgba="0 1 0 1"/></material></visual>'
        f'<visual>{box}<material name="blue"/></visual>'
        '<visual><geometry><mesh filename="a.stl"/></geometry></visual>',
        red,
    )
    *visuals, collision = read_shapes(description)
    assert [shape.kind for shape in visuals] == ['visual'] * 4
    assert [shape.colour for shape in visuals] == [(1, 0, 0, 0.5), (0, 1, 0, 1), (), ()]
    assert [shape.size for shape in visuals] == [(1, 2, 3)] * 3 + [(1, 1, 1)]
    assert [shape.file for shape in visuals] == ['', '', '', 'a.stl']
    assert (collision.kind, collision.link, collision.geometry) == ('collision', 'crank', 'box')
    assert collision.pose.position.tolist() == [1, 2, 3]
    np.testing.assert_allclose(collision.pose.rotation[:2, 0], [np.cos(0.5), np.sin(0.5)])
    assert visuals[0].pose.position.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ('shape', 'message'),
    [
        ('<visual/>', '<visual> cannot be read: it has no geometry'),
        ('<visual><geometry/></visual>', 'it has no geometry'),
        ('<collision><geometry><cone/></geometry></collision>', "<collision>.*geometry 'cone'"),
        ('<visual><geometry><box/></geometry></visual>', "'None' must be 3 finite"),
        ('<visual><geometry><box size="1 2 3 4"/></geometry></visual>', 'must be 3 finite'),
        ('<visual><geometry><sphere radius="nan"/></geometry></visual>', 'must be 1 finite'),
        ('<visual><geometry><sphere radius="x"/></geometry></visual>', 'could not convert'),
        (
            '<visual><origin xyz="1 2"/><geometry><sphere radius="1"/></geometry></visual>',
            'must be 3 finite',
        ),
        (
            '<visual><geometry><sphere radius="1"/></geometry>'
            '<material><color rgba="1 0 0"/></material></visual>',
            'must be 4 finite',
        ),
    ],
)
def test_shapes_that_cannot_be_read_are_named(shape, message):
    with pytest.raises(ExportError, match=f"link 'crank': its.*{message}"):
        read_shapes(described(shape))


def test_shapes_of_an_sdf_link():
    root = tree(
        described(
            '<visual><geometry><cylinder radius="0.3" length="0.8"/></geometry>'
            '<material><color rgba="1 0 0 0.5"/></material></visual>'
            '<collision><origin xyz="1 2 3"/><geometry><sphere radius="0.5"/></geometry>'
            '</collision><visual><geometry><mesh filename="a.stl" scale="1 2 3"/></geometry>'
            '</visual>'
        )
    )
    crank = root.find(".//link[@name='crank']")
    shapes = [(item.tag, item.get('name')) for item in crank if item.tag in ('visual', 'collision')]
    assert shapes == [('visual', 'visual_1'), ('visual', 'visual_2'), ('collision', 'collision_3')]
    cylinder, mesh, sphere = crank.findall('visual') + crank.findall('collision')
    assert cylinder.findtext('geometry/cylinder/radius') == '0.3'
    assert cylinder.findtext('geometry/cylinder/length') == '0.8'
    assert cylinder.findtext('material/ambient') == '1.0 0.0 0.0 0.5'
    assert numbers(mesh, 'geometry/mesh/scale').tolist() == [1, 2, 3]
    assert mesh.find('material') is None
    assert numbers(sphere, 'pose').tolist() == [1, 2, 3, 0, 0, 0, 1]


def test_shapes_and_exports_stay_what_they_are():
    description = described('<visual><geometry><sphere radius="1"/></geometry></visual>')
    (shape,) = read_shapes(description)
    for item, field in ((shape, 'link'), (build_export(description, 'sdf'), 'text')):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(item, field, 'other')


def test_massless_links_are_written_with_their_stand_ins():
    plain = changed(serial_arm(), 'links', 'turret', inertial=None)
    element = tree(plain).find(".//link[@name='turret']/inertial")
    assert element.findtext('mass') == '1e-10'
    assert element.findtext('inertia/ixx') == '1e-12' and element.findtext('inertia/ixy') == '0.0'
    base = tree(plain).find(".//link[@name='base_link']")
    assert base.find('inertial') is None


def test_a_closed_urdf_says_what_it_was_read_from():
    """Whatever the texts do not say is named: the first kind of thing that differs."""
    plain = four_bar()
    body = Inertial(1.0, np.zeros(3), np.eye(3))
    for edited, what in (
        (changed(plain, 'links', 'crank', inertial=body), 'links'),
        (changed(plain, 'joints', 'crank_joint', type='continuous'), 'joints'),
        (changed(plain, 'constraints', 'last', friction=Friction(0.1)), 'constraints'),
        (dataclasses.replace(plain, constraints=()), 'constraints'),
        (changed(plain, 'actuators', 'crank_joint', force_constant=3.0), 'actuators'),
        (dataclasses.replace(plain, gravity=np.array([0.0, -9.8, 0.0])), 'gravity'),
        (dataclasses.replace(plain, transition_velocity=0.01), 'transition_velocity'),
    ):
        with pytest.raises(ExportError, match=f"robot 'four_bar': its {what} were changed"):
            build_export(edited, 'urdf')
    assert build_export(plain, 'urdf').text == plain.urdf


def test_the_bridge_carries_the_topics_of_the_world():
    """Those of the systems in it: a force for each driven joint, states, the clock."""
    exported = build_export(four_bar(), 'sdf', 'gazebo')
    entries = yaml.safe_load(exported.bridge)
    model = etree.fromstring(exported.text.encode()).find('world/model')
    plugins = model.findall('plugin')
    driven = [p.findtext('joint_name') for p in plugins if p.get('name').endswith('JointForce')]
    topics = {each['gz_topic_name']: each for each in entries}
    assert len(driven) == 1 and len(entries) == 3
    force = topics[f'/model/four_bar/joint/{driven[0]}/cmd_force']
    assert force['direction'] == 'ROS_TO_GZ' and force['gz_type_name'] == 'gz.msgs.Double'
    states = topics[f'/world/{model.getparent().get("name")}/model/four_bar/joint_state']
    assert states['ros_type_name'] == 'sensor_msgs/msg/JointState'
    assert topics['/clock']['direction'] == 'GZ_TO_ROS'
    assert build_export(four_bar(), 'sdf', 'graph').bridge == ''
