"""What stands in the elements of an MJCF file, read as plain XML and compiled by MuJoCo."""

import dataclasses
import re

import mujoco
import numpy as np
import pytest
from closed_chains import closed_chain
from lxml import etree
from mechanisms import changed, four_bar, serial_arm, skew_hexapod
from transforms3d.quaternions import quat2mat

import pkm_description
from pkm_description import ExportError, Friction, Inertial
from pkm_description.description import Limit
from pkm_description.exporters import build_mjcf
from pkm_description.exporters.exported import poses_at_home
from pkm_description.exporters.inertias import TINY_MASS
from pkm_description.payload import joined

KINDS = ('spherical', 'universal', 'revolute', 'prismatic', 'fixed')


def tree(description, **options):
    return etree.fromstring(build_mjcf(description, **options).text.encode())


def numbers(element, key):
    return np.array([float(part) for part in element.get(key).split()])


def joint_of(root, name):
    return root.find(f".//joint[@name='{name}']")


def test_options_of_the_simulation():
    description = dataclasses.replace(four_bar(), gravity=np.array([1.0, -2.0, 3.0]))
    root = tree(description)
    assert root.get('model') == 'four_bar'
    assert dict(root.find('compiler').attrib) == {'angle': 'radian', 'autolimits': 'true'}
    option = root.find('option')
    assert dict(option.attrib) == {
        'timestep': '0.0001',
        'gravity': '1.0 -2.0 3.0',
        'integrator': 'Euler',
        'solver': 'Newton',
        'tolerance': '1e-12',
    }
    assert dict(option.find('flag').attrib) == {'contact': 'disable', 'autoreset': 'disable'}


@pytest.mark.parametrize('timestep', [1e-9, 0.002, 3.0])
def test_closures_are_as_stiff_as_the_time_step_allows(timestep):
    root = tree(four_bar(), timestep=timestep)
    assert float(root.find('option').get('timestep')) == timestep
    for closure in root.find('equality'):
        assert numbers(closure, 'solref').tolist() == [2.0 * timestep, 1.0]
        assert closure.get('solimp') == '.9999 .9999 .001'


@pytest.mark.parametrize('timestep', [0.0, -1e-4, np.nan])
def test_a_time_step_that_is_not_positive_is_refused(timestep):
    with pytest.raises(ExportError, match='time step must be positive'):
        build_mjcf(four_bar(), timestep=timestep)


@pytest.mark.parametrize(
    ('lower', 'upper', 'written'),
    [
        (-0.5, 0.75, '-0.5 0.75'),
        (0.0, 0.0, None),
        (-0.5, np.inf, None),
        (-np.inf, 0.75, None),
        (-np.inf, np.inf, None),
    ],
)
def test_a_range_needs_two_ends_that_differ(lower, upper, written):
    description = changed(serial_arm(), 'joints', 'joint2', limit=Limit(lower, upper, 1.0, 2.0))
    exported = build_mjcf(description)
    assert joint_of(etree.fromstring(exported.text.encode()), 'joint2').get('range') == written
    lost = f"joint 'joint2': limits {lower:g} to {upper:g} are left out, MJCF needs two that differ"
    nothing = written is not None or np.isinf([lower, upper]).all()
    assert exported.losses == (() if nothing else (lost,))
    without = build_mjcf(description, joint_limits=False)
    assert ' range=' not in without.text and without.losses == ()


def test_joints_of_every_type():
    plain = serial_arm()
    slide = changed(plain, 'joints', 'joint3', type='prismatic')
    slide = changed(slide, 'joints', 'joint1', type='continuous')
    root = tree(slide)
    assert [joint_of(root, f'joint{k}').get('type') for k in (1, 2, 3)] == [
        'hinge',
        'hinge',
        'slide',
    ]
    axis = slide.joint('joint3').axis
    assert numbers(joint_of(root, 'joint3'), 'axis').tolist() == list(axis)


def test_motors_rotors_and_friction_stand_at_their_joints():
    description = changed(serial_arm(), 'actuators', 'joint2', rotor_inertia=0.25)
    description = changed(description, 'joints', 'joint1', friction=None)
    friction = Friction(coulomb=0.5, viscous=0.125, coulomb_negative=9.0, model='coulomb_viscous')
    description = changed(description, 'joints', 'joint3', friction=friction)
    free = dataclasses.replace(description.joint('joint1').limit, effort=np.inf)
    description = changed(description, 'joints', 'joint1', limit=free)
    root = tree(description)
    assert [joint_of(root, f'joint{k}').get('armature') for k in (1, 2, 3)] == [None, '0.25', None]
    damping = [joint_of(root, f'joint{k}').get('damping') for k in (1, 2, 3)]
    assert damping == [None, '0.2', '0.125']
    coulomb = [joint_of(root, f'joint{k}').get('frictionloss') for k in (1, 2, 3)]
    assert coulomb == [None, '0.5', '0.5']
    motors = [dict(motor.attrib) for motor in root.find('actuator')]
    assert motors == [
        {'name': 'joint1', 'joint': 'joint1', 'gear': '1'},
        {'name': 'joint2', 'joint': 'joint2', 'gear': '1', 'forcerange': '-100.0 100.0'},
        {'name': 'joint3', 'joint': 'joint3', 'gear': '1', 'forcerange': '-100.0 100.0'},
    ]


@pytest.mark.parametrize(
    ('model', 'expected'),
    [
        ('coulomb_viscous', (2.0, 1.0)),
        ('coulomb', (2.0, 0.0)),
        ('viscous', (0.0, 1.0)),
        ('asymmetric', (3.5, 1.0)),
        ('asymmetric_coulomb', (3.5, 0.0)),
        ('none', (0.0, 0.0)),
    ],
)
def test_every_model_of_friction(model, expected):
    friction = Friction(coulomb=2.0, viscous=1.0, coulomb_negative=5.0, model=model)
    description = changed(serial_arm(), 'joints', 'joint2', friction=friction)
    exported = build_mjcf(description)
    found = joint_of(etree.fromstring(exported.text.encode()), 'joint2')
    assert (float(found.get('frictionloss')), float(found.get('damping'))) == expected
    assert len(exported.losses) == model.startswith('asymmetric')
    even = dataclasses.replace(friction, coulomb_negative=2.0)
    assert build_mjcf(changed(description, 'joints', 'joint2', friction=even)).losses == ()
    assert build_mjcf(description, joint_friction=False).losses == ()


@pytest.mark.parametrize('kind', KINDS)
def test_friction_of_closures_is_written_where_they_have_a_joint(kind):
    friction = Friction(coulomb=0.5, viscous=0.25)
    description = changed(closed_chain(kind), 'constraints', 'closure', friction=friction)
    exported = build_mjcf(description)
    own = joint_of(etree.fromstring(exported.text.encode()), 'closure_auxiliary')
    if kind == 'prismatic':
        assert (own.get('frictionloss'), own.get('damping')) == ('0.5', '0.25')
        assert exported.losses == ()
    else:
        assert own is None or own.get('frictionloss') is own.get('damping') is None
        assert exported.losses == (
            f"{kind} constraint 'closure': Coulomb friction 0.5 and viscous friction 0.25 is "
            'left out',
        )
    without = build_mjcf(description, joint_friction=False)
    assert 'frictionloss' not in without.text and 'damping' not in without.text
    assert without.losses == ()
    plain = joint_of(tree(closed_chain(kind)), 'closure_auxiliary')
    assert plain is None or plain.get('damping') is None


@pytest.mark.parametrize('turned', [False, True])
@pytest.mark.parametrize('kind', KINDS)
def test_the_sites_of_a_closure(kind, turned):
    """Where the constraint is, and 0.1 m along its axis; the axis of a ring is the child's."""
    description = closed_chain(kind, turned)
    constraint = description.constraints[0]
    text = build_mjcf(description).text
    equality = [(e.tag, e.get('name')) for e in etree.fromstring(text.encode()).find('equality')]
    tag = 'weld' if kind in ('fixed', 'prismatic') else 'connect'
    expected = [(tag, 'closure')]
    if kind in ('revolute', 'universal'):
        expected.append(('connect', 'closure_axis'))
    assert equality == expected
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    frame = poses_at_home(description)['platform'] @ constraint.child_origin
    for end in ('parent', 'child'):
        site = data.site(f'closure_{end}')
        np.testing.assert_allclose(site.xpos, frame.position, atol=1e-12)
        body = model.body(model.site(f'closure_{end}').bodyid[0]).name
        own = end == 'parent' and kind in ('universal', 'prismatic')
        assert body == ('closure_auxiliary' if own else getattr(constraint, end))
        if len(expected) == 2:
            ahead = data.site(f'closure_axis_{end}').xpos - site.xpos
            axis = frame.rotation @ constraint.child_axis
            np.testing.assert_allclose(ahead, 0.1 * axis, atol=1e-12)
    if kind in ('universal', 'prismatic'):
        joint = joint_of(etree.fromstring(text.encode()), 'closure_auxiliary')
        assert joint.get('type') == ('hinge' if kind == 'universal' else 'slide')
        np.testing.assert_array_equal(numbers(joint, 'axis'), constraint.parent_axis)


def body_inertial(root, name):
    """The <inertial> of a body as an Inertial."""
    element = root.find(f".//body[@name='{name}']/inertial")
    moments = numbers(element, 'diaginertia')
    axes = np.eye(3) if element.get('quat') is None else quat2mat(numbers(element, 'quat'))
    inertia = axes @ np.diag(moments) @ axes.T
    return Inertial(float(element.get('mass')), numbers(element, 'pos'), inertia)


def assert_same_body(found, expected):
    assert found.mass == pytest.approx(expected.mass, rel=1e-14)
    np.testing.assert_allclose(found.com, expected.com, atol=1e-15)
    np.testing.assert_allclose(found.inertia, expected.inertia, atol=1e-15)


def test_the_ring_of_a_universal_closure_takes_its_mass_from_the_child():
    description = closed_chain('universal')
    root = tree(description)
    ring = body_inertial(root, 'closure_auxiliary')
    assert_same_body(ring, Inertial(1e-10, np.zeros(3), 1e-12 * np.eye(3)))
    centre = description.constraints[0].child_origin.position
    point = Inertial(TINY_MASS, np.asarray(centre), np.zeros((3, 3)))
    found = joined(body_inertial(root, 'platform'), point)
    assert_same_body(found, description.link('platform').inertial)


@pytest.mark.parametrize('count', [1, 2])
def test_slides_of_prismatic_closures_carry_equal_shares_of_the_child(count):
    """A weld between bodies of like mass is stiff: a half, or a third with two slides."""
    plain = closed_chain('prismatic', turned=True)
    if count == 2:
        other = dataclasses.replace(plain.constraints[0], name='second')
        plain = dataclasses.replace(plain, constraints=(*plain.constraints, other))
    root = tree(plain)
    whole = plain.link('platform').inertial
    part = body_inertial(root, 'platform')
    share = 1.0 / (1 + count)
    assert_same_body(part, Inertial(share * whole.mass, whole.com, share * whole.inertia))
    origin = plain.constraints[0].child_origin
    slide = body_inertial(root, 'closure_auxiliary')
    assert slide.mass == pytest.approx(share * whole.mass)
    np.testing.assert_allclose(origin.position + origin.rotation @ slide.com, whole.com)
    turned = origin.rotation @ slide.inertia @ origin.rotation.T
    np.testing.assert_allclose(turned, share * whole.inertia, atol=1e-15)


def test_an_inertia_without_one_direction_is_raised_and_named():
    """A rod has no inertia about itself, which MuJoCo refuses."""
    plain = serial_arm()
    for moments, raised in (
        ((0.0, 0.5, 0.5), True),
        ((0.5, 0.5, 0.0), True),
        ((0.5, 0.5, 0.99e-12), True),
        ((0.5, 0.5, 1.01e-12), False),
        ((0.5, 0.5, 1e-6), False),
        ((1e-12, 1e-12, 1e-12), False),
    ):
        rod = Inertial(1.0, np.zeros(3), np.diag(moments))
        exported = build_mjcf(changed(plain, 'links', 'arm', inertial=rod))
        found = body_inertial(etree.fromstring(exported.text.encode()), 'arm')
        expected = np.array(moments) + (1e-12 if raised else 0.0)
        np.testing.assert_allclose(np.diag(found.inertia), expected, rtol=1e-12, atol=0)
        lost = ("link 'arm': its inertia is raised by 1e-12 kg m^2",) if raised else ()
        assert exported.losses == lost


def test_inertias_that_no_body_has_are_refused():
    plain = serial_arm()
    for moments, refused in (
        ((1.0, 2.0, 3.0), False),
        ((1.0, 2.0, 3.0 + 1e-6), True),
        ((0.5, 0.5, 2.0), True),
        ((-1e-6, 1.0, 1.0), True),
        ((0.3, 0.35, 0.4), False),
    ):
        body = Inertial(1.0, np.zeros(3), np.diag(moments))
        description = changed(plain, 'links', 'arm', inertial=body)
        if refused:
            with pytest.raises(ExportError, match="link 'arm': no rigid body"):
                build_mjcf(description)
        else:
            assert build_mjcf(description).losses == ()


def test_a_body_lighter_than_a_stand_in_weighs_as_much():
    light = Inertial(1e-14, np.zeros(3), 1e-6 * np.eye(3))
    root = tree(changed(serial_arm(), 'links', 'arm', inertial=light))
    assert body_inertial(root, 'arm').mass == 1e-10


def test_a_massless_link_that_is_fixed_needs_no_inertia():
    plain = serial_arm()
    text = plain.urdf.replace(
        '</robot>',
        '<link name="flange"/><joint name="tool" type="fixed"><parent link="arm"/>'
        '<child link="flange"/><origin xyz="0.3 0.1 -0.2"/></joint></robot>',
    )
    exported = build_mjcf(pkm_description.loads(text, plain.yaml_text))
    body = etree.fromstring(exported.text.encode()).find(".//body[@name='flange']")
    assert len(body) == 0 and numbers(body, 'pos').tolist() == [0.3, 0.1, -0.2]
    assert exported.losses == ()


def test_the_home_of_a_turned_platform_and_of_its_joints():
    """Position, then quaternion (w first) of what floats; every joint where it is at home."""
    description = skew_hexapod()
    root = tree(description)
    model = mujoco.MjModel.from_xml_string(etree.tostring(root).decode())
    home = numbers(root.find('keyframe/key'), 'qpos')
    assert root.find('keyframe/key').get('name') == 'home' and len(home) == model.nq
    start = int(model.joint('float').qposadr[0])
    np.testing.assert_allclose(home[start : start + 3], description.home.position, atol=1e-12)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, home[start + 3 : start + 7])
    np.testing.assert_allclose(turn.reshape(3, 3), description.home.rotation, atol=1e-12)
    for name, value in description.home_joints.items():
        assert home[int(model.joint(name).qposadr[0])] == pytest.approx(value, abs=1e-15)


def test_shapes_have_the_sizes_that_mujoco_means():
    """Half edges of a box, radius and half length of a cylinder, radius of a sphere."""
    shapes = (
        '<visual><geometry><box size="0.2 0.04 0.06"/></geometry></visual>'
        '<collision><origin xyz="1 2 3"/><geometry><cylinder radius="0.3" length="0.8"/>'
        '</geometry></collision>'
        '<visual><geometry><mesh filename="a.stl"/></geometry></visual>'
        '<visual><geometry><sphere radius="0.5"/></geometry></visual>'
    )
    plain = four_bar()
    text = plain.urdf.replace('<link name="crank">', f'<link name="crank">{shapes}')
    description = pkm_description.loads(text, plain.yaml_text)
    geoms = {geom.get('name'): dict(geom.attrib) for geom in tree(description).iter('geom')}
    same = {'mass': '0', 'contype': '0', 'conaffinity': '0', 'quat': '1.0 0.0 0.0 0.0'}
    assert geoms == {
        'crank_visual_0': {
            'name': 'crank_visual_0',
            'type': 'box',
            'size': '0.1 0.02 0.03',
            'group': '1',
            'pos': '0.0 0.0 0.0',
            **same,
        },
        'crank_visual_2': {
            'name': 'crank_visual_2',
            'type': 'sphere',
            'size': '0.5',
            'group': '1',
            'pos': '0.0 0.0 0.0',
            **same,
        },
        'crank_collision_3': {
            'name': 'crank_collision_3',
            'type': 'cylinder',
            'size': '0.3 0.4',
            'group': '3',
            'pos': '1.0 2.0 3.0',
            **same,
        },
    }
    assert tree(description, shapes=False).find('.//geom') is None


def test_what_mjcf_cannot_close_is_named():
    plain = closed_chain('universal')
    screw = changed(plain, 'constraints', 'closure', type='screw')
    with pytest.raises(ExportError, match="'closure': MJCF cannot hold.*'screw'"):
        build_mjcf(screw)
    axis = plain.constraints[0].parent_axis
    for lean, kept in ((1e-7, True), (1e-5, False)):
        for sign in (1.0, -1.0):
            child = plain.constraints[0].child_axis + sign * lean * axis
            leaning = changed(plain, 'constraints', 'closure', child_axis=child)
            if kept:
                build_mjcf(leaning)
            else:
                with pytest.raises(ExportError, match="'closure': the axes of a universal"):
                    build_mjcf(leaning)


def test_losses_stand_at_the_head_of_the_file():
    """Two hyphens would end an XML comment."""
    friction = Friction(coulomb=2.0, coulomb_negative=5.0, model='asymmetric')
    text = serial_arm().urdf.replace('joint2', 'a--b')
    plain = pkm_description.loads(text, serial_arm().yaml_text.replace('joint2', 'a--b'))
    exported = build_mjcf(changed(plain, 'joints', 'a--b', friction=friction))
    assert "joint 'a--b'" in exported.losses[0]
    heads = re.findall('<!-- (.*?) -->', exported.text)
    assert len(heads) == 1 and heads[0].startswith("lost: joint 'a- -b': Coulomb friction 2")
    assert exported.text.index('<!--') < exported.text.index('<compiler')
