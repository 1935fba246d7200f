"""Exports read back by the tools they are for: MuJoCo and Pinocchio."""

import dataclasses

import mujoco
import numpy as np
import pytest
from closed_chains import CHAINS, closed_chain
from lxml import etree
from mechanisms import four_bar

import pkm_description
from pkm_description import ExportError, Friction, Inertial
from pkm_description.assembly import Assembly
from pkm_description.exporters import build_mjcf


@pytest.fixture(scope='module')
def palida():
    return pkm_description.load('palida')


def loaded(text):
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return model, data


def gaps(model, data):
    return np.linalg.norm(data.site_xpos[model.eq_obj1id] - data.site_xpos[model.eq_obj2id], axis=1)


def with_link(description, name, inertial):
    links = tuple(
        dataclasses.replace(link, inertial=inertial) if link.name == name else link
        for link in description.links
    )
    return dataclasses.replace(description, links=links)


def with_joint(description, name, **changes):
    joints = tuple(
        dataclasses.replace(joint, **changes) if joint.name == name else joint
        for joint in description.joints
    )
    return dataclasses.replace(description, joints=joints)


def test_keyframe_is_the_closed_home(palida):
    model, data = loaded(pkm_description.export(palida, 'mjcf'))
    assert model.neq == 6
    assert np.max(gaps(model, data)) < 1e-12
    np.testing.assert_allclose(data.body('platform').xpos, [0.0, 0.0, -0.755], atol=1e-12)
    masses = [link.inertial.mass for link in palida.links if link.inertial is not None]
    assert np.sum(model.body_mass) == pytest.approx(sum(masses))


def test_limits_rotors_and_motors():
    description = closed_chain('spherical')
    actuators = tuple(dataclasses.replace(a, rotor_inertia=0.5) for a in description.actuators)
    text = build_mjcf(dataclasses.replace(description, actuators=actuators)).text
    model, _ = loaded(text)
    assert model.joint('joint1').armature[0] == 0.5
    assert model.joint('joint4').armature[0] == 0.0
    np.testing.assert_allclose(model.joint('joint1').range, [-3.0, 3.0])
    np.testing.assert_allclose(model.actuator('joint1').forcerange, [-500.0, 500.0])


def test_joint_friction_is_written_on_request(palida):
    with_friction, _ = loaded(build_mjcf(palida).text)
    without, _ = loaded(build_mjcf(palida, joint_friction=False).text)
    address = int(with_friction.joint('leg3_strut').dofadr[0])
    assert with_friction.dof_frictionloss[address] == pytest.approx(14.794)
    assert with_friction.dof_damping[address] == pytest.approx(14.218)
    assert not np.any(without.dof_frictionloss) and not np.any(without.dof_damping)
    lopsided = Friction(coulomb=2.0, coulomb_negative=4.0, viscous=1.0, model='asymmetric')
    model, _ = loaded(build_mjcf(with_joint(palida, 'leg3_strut', friction=lopsided)).text)
    assert model.dof_frictionloss[address] == pytest.approx(3.0)


def test_tree_dynamics_of_both_exports_agree(palida):
    """MuJoCo on the MJCF and Pinocchio on the tree URDF: same joint forces."""
    pinocchio = pytest.importorskip('pinocchio')
    model, data = loaded(build_mjcf(palida, joint_friction=False).text)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    other = pinocchio.buildModelFromXML(pkm_description.export(palida, 'urdf'))
    other_data = other.createData()
    names = palida.scalar_joints
    ours = [int(model.joint(name).dofadr[0]) for name in names]
    ours_q = [int(model.joint(name).qposadr[0]) for name in names]
    theirs = [other.joints[other.getJointId(name)].idx_v for name in names]
    theirs_q = [other.joints[other.getJointId(name)].idx_q for name in names]
    random = np.random.default_rng(3)
    for _ in range(5):
        position = random.uniform(-0.5, 0.5, len(names))
        velocity, acceleration = random.normal(size=(2, len(names)))
        q, v, a = pinocchio.neutral(other), np.zeros(other.nv), np.zeros(other.nv)
        q[theirs_q], v[theirs], a[theirs] = position, velocity, acceleration
        expected = pinocchio.rnea(other, other_data, q, v, a)[theirs]
        data.qpos[ours_q] = position
        data.qvel[:], data.qacc[:] = 0.0, 0.0
        data.qvel[ours], data.qacc[ours] = velocity, acceleration
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(data.qfrc_inverse[ours], expected, atol=1e-9)


@pytest.mark.parametrize('kind', CHAINS)
def test_closures_leave_the_described_mobility(kind):
    description = closed_chain(kind)
    model, data = loaded(build_mjcf(description, joint_limits=False).text)
    assert np.max(gaps(model, data)) < 1e-12
    jacobian = np.reshape(data.efc_J, (data.nefc, model.nv))
    assembly = Assembly(description)
    mobility = model.nv - np.linalg.matrix_rank(jacobian, tol=1e-9)
    assert mobility == assembly.mobility(assembly.home()) == len(CHAINS[kind][1])


def test_massless_link_gets_the_documented_stand_in(palida):
    model, _ = loaded(build_mjcf(with_link(palida, 'leg1_ring', None)).text)
    assert model.body('leg1_ring').mass[0] == 1e-10
    np.testing.assert_allclose(model.body('leg1_ring').inertia, 1e-12)


def test_tree_urdf_drops_the_constraints_alone(palida):
    before = etree.fromstring(palida.urdf.encode())
    exported = pkm_description.build_export(palida, 'urdf', 'tree')
    after = etree.fromstring(exported.text.encode())
    assert len(before.findall('constraint')) == 6 and after.find('constraint') is None
    for tag in ('link', 'joint', 'ros2_control'):
        expected = [element.get('name') for element in before.findall(tag)]
        assert [element.get('name') for element in after.findall(tag)] == expected
    assert [f"'leg{n}_top'" in line for n, line in enumerate(exported.losses, 1)] == 6 * [True]


def test_closed_urdf_is_the_robot(palida):
    exported = pkm_description.build_export(palida, 'urdf')
    assert exported.sidecar == palida.yaml_text and not exported.losses
    assert pkm_description.loads(exported.text, exported.sidecar).digest == palida.digest


def test_other_readers_take_the_closed_urdf_as_a_tree(palida):
    pinocchio = pytest.importorskip('pinocchio')
    text = pkm_description.export(palida, 'urdf')
    assert pinocchio.buildModelFromXML(text).nv == mujoco.MjModel.from_xml_string(text).nv == 24


def test_changed_description_has_no_urdf(palida):
    lighter = with_link(palida, 'platform', Inertial(1.0, np.zeros(3), np.diag([1.0, 1.0, 1.0])))
    with pytest.raises(ExportError, match='links were changed'):
        pkm_description.export(lighter, 'urdf')
    with pytest.raises(ExportError, match='joints were changed'):
        pkm_description.export(with_joint(palida, 'leg3_strut', friction=None), 'urdf', 'tree')


def named(text, base='base_link', joint=None):
    """The four-bar with another name of its base link or of a joint."""
    text = text.replace('"base_link"', f'"{base}"')
    return text if joint is None else text.replace('"crank_joint"', f'"{joint}"')


def test_names_that_a_format_reserves():
    plain = four_bar()
    text = named(plain.urdf, base='world', joint='crank')
    robot = pkm_description.loads(text, plain.yaml_text)
    model, data = loaded(pkm_description.export(robot, 'mjcf'))
    assert model.nbody == 4 and np.max(gaps(model, data)) < 1e-12
    exported = pkm_description.build_export(robot, 'sdf')
    assert exported.losses == (
        "link 'world' is named 'world_link'",
        "joint 'crank' is named 'crank_joint'",
    )
    root = etree.fromstring(exported.text.encode())
    names = [e.get('name') for e in root.find('world/model') if e.tag in ('link', 'joint')]
    assert len(set(names)) == len(names) and 'world' not in names
    assert {e.text for e in root.iter('parent', 'child')} <= {*names, 'world'}
    assert [e.findtext('parent') for e in root.iter('joint')].count('world') == 1


def test_shapes_are_written_and_never_touch(palida):
    """Collision shapes are there for clearances: no exported robot has contacts with itself."""
    model, _ = loaded(pkm_description.export(palida, 'mjcf'))
    cylinder = model.geom('platform_visual_6')
    np.testing.assert_allclose(cylinder.size[:2], [0.1, 0.01])
    np.testing.assert_allclose(cylinder.pos, [0.0, 0.0, 0.105])
    assert model.ngeom == 26 + 19  # visuals and collision shapes
    assert not np.any(model.geom_contype) and not np.any(model.geom_conaffinity)
    root = etree.fromstring(pkm_description.export(palida, 'sdf').encode())
    assert len(root.findall('.//visual')) == 26 and len(root.findall('.//collision')) == 19
    assert root.find('.//self_collide') is None  # off unless it is asked for
    length = root.findtext(".//link[@name='platform']/visual/geometry/cylinder/length")
    assert float(length) == pytest.approx(0.02)


def test_shapes_of_every_kind():
    plain = four_bar()
    shapes = (
        '<visual><origin xyz="0.1 0 0" rpy="0 0 0.3"/><geometry><box size="0.2 0.04 0.06"/>'
        '</geometry><material name="red"/></visual>'
        '<visual><geometry><mesh filename="package://parts/a.stl" scale="1 2 3"/></geometry>'
        '</visual>'
        '<collision><geometry><sphere radius="0.03"/></geometry></collision>'
    )
    text = plain.urdf.replace('<link name="crank">', f'<link name="crank">{shapes}')
    red = '<material name="red"><color rgba="1 0 0 0.5"/></material></robot>'
    text = text.replace('</robot>', red)
    robot = pkm_description.loads(text, plain.yaml_text)
    model, _ = loaded(pkm_description.export(robot, 'mjcf'))
    np.testing.assert_allclose(model.geom('crank_visual_0').size, [0.1, 0.02, 0.03])
    np.testing.assert_allclose(model.geom('crank_visual_0').rgba, [1, 0, 0, 0.5])
    assert model.ngeom == 2 and model.geom('crank_collision_2').size[0] == 0.03
    link = etree.fromstring(pkm_description.export(robot, 'sdf').encode()).find('.//link[visual]')
    assert link.findtext('visual/geometry/box/size') == '0.2 0.04 0.06'
    assert link.findtext('visual/material/diffuse') == '1.0 0.0 0.0 0.5'
    assert link.findtext('visual/geometry/mesh/uri') == 'package://parts/a.stl'
    assert float(link.findtext('collision/geometry/sphere/radius')) == 0.03
    broken = pkm_description.loads(text.replace('0.2 0.04 0.06', '0.2 0.04'), plain.yaml_text)
    with pytest.raises(ExportError, match="link 'crank'.*<visual>.*0.2 0.04"):
        pkm_description.export(broken, 'sdf')


def test_losses_are_named(palida):
    lopsided = Friction(coulomb=2.0, coulomb_negative=4.0, viscous=1.0, model='asymmetric')
    odd = with_link(with_joint(palida, 'leg3_strut', friction=lopsided), 'leg1_ring', None)
    actuators = tuple(dataclasses.replace(a, rotor_inertia=0.5) for a in odd.actuators)
    closure = dataclasses.replace(odd.constraints[0], friction=Friction(0.1, 0.2))
    odd = dataclasses.replace(odd, actuators=actuators, constraints=(closure, *odd.constraints[1:]))
    mean = "joint 'leg3_strut': Coulomb friction 2 forwards and 4 backwards is written as its mean"
    cut = "constraint 'leg1_top': Coulomb friction 0.1 and viscous friction 0.2 is left out"
    for format, rotors in (('mjcf', 0), ('sdf', 6)):
        exported = pkm_description.build_export(odd, format)
        assert mean in exported.losses
        assert sum(cut in line for line in exported.losses) == 1
        assert sum('rotor' in line for line in exported.losses) == rotors
        assert "link 'leg1_ring' has no mass: 1e-12 kg m^2 are added to it" in exported.losses
        assert all(f'<!-- lost: {line} -->' in exported.text for line in exported.losses)
        with pytest.raises(ExportError, match=f'written as {format} without losses.*leg1_top'):
            pkm_description.build_export(odd, format, strict=True)
        pkm_description.build_export(palida, format, strict=True)
    one_sided = with_joint(
        palida,
        'leg3_strut',
        limit=dataclasses.replace(palida.joint('leg3_strut').limit, upper=np.inf),
    )
    losses = pkm_description.build_export(one_sided, 'mjcf').losses
    assert losses == (
        "joint 'leg3_strut': limits 0.6 to inf are left out, MJCF needs two that differ",
    )


def test_redundant_loops_choose_the_solver(palida):
    """Gazebo's `dantzig` loses redundant loops, its `pgs` those of a hexapod."""
    for description, solver in ((palida, 'dantzig'), (four_bar(), 'pgs')):
        root = etree.fromstring(pkm_description.export(description, 'sdf', 'gazebo').encode())
        assert root.findtext('world/physics/dart/solver/solver_type') == solver


def test_rotor_on_the_base_goes_into_the_driven_link():
    plain = four_bar()
    with_rotor = pkm_description.loads(
        plain.urdf, plain.yaml_text + 'rotor_inertia: {crank_joint: 0.5}\n'
    )
    exported = pkm_description.build_export(with_rotor, 'sdf', strict=True)
    for text, izz in ((exported.text, 0.521), (pkm_description.export(plain, 'sdf'), 0.021)):
        link = etree.fromstring(text.encode()).find(".//link[@name='crank']/inertial")
        assert float(link.findtext('inertia/izz')) == pytest.approx(izz, rel=1e-12)
        assert float(link.findtext('mass')) == 1.0
    assert 'rotor_inertia' not in exported.text


def test_gazebo_form_of_palida(palida):
    """One tree, platform on the first leg, the other five legs welded by dummies."""
    root = etree.fromstring(pkm_description.export(palida, 'sdf', 'gazebo').encode())
    model = root.find('world/model')
    links = [element.get('name') for element in model.findall('link')]
    children = [element.findtext('child') for element in model.findall('joint')]
    assert sorted(children) == sorted(links)  # every link has exactly one parent
    welds = [p for p in model.findall('plugin') if p.find('child_link') is not None]
    assert [p.findtext('parent_link') for p in welds] == [f'leg{n}_top_dummy' for n in range(2, 7)]
    assert {p.findtext('child_link') for p in welds} == {'platform'}
    assert {p.findtext('child_model') for p in welds} == {'__model__'}
    assert len({p.findtext('detach_topic') for p in welds}) == 5
    forced = [
        p.findtext('joint_name')
        for p in model.findall('plugin')
        if p.get('filename') == 'gz-sim-apply-joint-force-system'
    ]
    assert forced == palida.actuated_joints
    masses = [float(element.text) for element in model.iter('mass')]
    assert sum(masses) == pytest.approx(
        sum(link.inertial.mass for link in palida.links if link.inertial is not None), rel=1e-14
    )
    joint = model.find("joint[@name='leg2_strut']/axis/limit")
    span = float(joint.findtext('upper')) - float(joint.findtext('lower'))
    assert span == pytest.approx(1.02 - 0.6) and float(joint.findtext('effort')) == 230.0


@pytest.mark.parametrize('form', ['graph', 'gazebo'])
@pytest.mark.parametrize('name', ['palida', 'four_bar'])
def test_sdf_limits_count_from_home(palida, name, form):
    robot = palida if name == 'palida' else four_bar()
    root = etree.fromstring(pkm_description.export(robot, 'sdf', form).encode())
    model = root.find('world/model')
    limited = 0
    for joint in robot.joints:
        if not joint.is_scalar or not np.isfinite(joint.limit.lower):
            continue
        limit = model.find(f"joint[@name='{joint.name}']/axis/limit")
        home = robot.home_joints[joint.name]
        assert float(limit.findtext('lower')) + home == pytest.approx(joint.limit.lower, abs=1e-12)
        assert float(limit.findtext('upper')) + home == pytest.approx(joint.limit.upper, abs=1e-12)
        limited += abs(home) > 1e-3
    assert limited  # a limit counted from elsewhere shows only where home is not zero


def test_errors_name_the_offender(palida):
    with pytest.raises(ExportError, match="'dxf'.*mjcf, sdf, urdf"):
        pkm_description.export(palida, 'dxf')
    with pytest.raises(ExportError, match="sdf has no form 'tree'.*graph, gazebo"):
        pkm_description.export(palida, 'sdf', 'tree')
    with pytest.raises(ExportError, match='time step'):
        build_mjcf(palida, timestep=0.0)
    plate = Inertial(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(ExportError, match="link 'platform'.*principal inertias"):
        build_mjcf(with_link(palida, 'platform', plate))
    with pytest.raises(ExportError, match="joint 'platform_joint'.*base link"):
        build_mjcf(with_joint(palida, 'platform_joint', parent='leg1_ring'))
