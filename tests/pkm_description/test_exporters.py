"""Exports read back by the tools they are for: MuJoCo and Pinocchio."""

import dataclasses

import mujoco
import numpy as np
import pytest
from closed_chains import CHAINS, closed_chain
from lxml import etree

import pkm_description
from pkm_description import ExportError, Friction, Inertial
from pkm_description.assembly import Assembly
from pkm_description.exporters import export_mjcf


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
    return np.linalg.norm(
        data.site_xpos[model.eq_obj1id] - data.site_xpos[model.eq_obj2id], axis=1
    )


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
    text = export_mjcf(dataclasses.replace(description, actuators=actuators))
    model, _ = loaded(text)
    assert model.joint('joint1').armature[0] == 0.5
    assert model.joint('joint4').armature[0] == 0.0
    np.testing.assert_allclose(model.joint('joint1').range, [-3.0, 3.0])
    np.testing.assert_allclose(model.actuator('joint1').forcerange, [-500.0, 500.0])


def test_joint_friction_is_written_on_request(palida):
    with_friction, _ = loaded(export_mjcf(palida))
    without, _ = loaded(export_mjcf(palida, joint_friction=False))
    address = int(with_friction.joint('leg3_strut').dofadr[0])
    assert with_friction.dof_frictionloss[address] == pytest.approx(14.794)
    assert with_friction.dof_damping[address] == pytest.approx(14.218)
    assert not np.any(without.dof_frictionloss) and not np.any(without.dof_damping)
    lopsided = Friction(coulomb=2.0, coulomb_negative=4.0, viscous=1.0, model='asymmetric')
    model, _ = loaded(export_mjcf(with_joint(palida, 'leg3_strut', friction=lopsided)))
    assert model.dof_frictionloss[address] == pytest.approx(3.0)


def test_tree_dynamics_of_both_exports_agree(palida):
    """MuJoCo on the MJCF and Pinocchio on the tree URDF: same joint forces."""
    pinocchio = pytest.importorskip('pinocchio')
    model, data = loaded(export_mjcf(palida, joint_friction=False))
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
    model, data = loaded(export_mjcf(description, joint_limits=False))
    assert np.max(gaps(model, data)) < 1e-12
    jacobian = np.reshape(data.efc_J, (data.nefc, model.nv))
    assembly = Assembly(description)
    mobility = model.nv - np.linalg.matrix_rank(jacobian, tol=1e-9)
    assert mobility == assembly.mobility(assembly.home()) == len(CHAINS[kind][1])


def test_massless_link_gets_the_documented_stand_in(palida):
    model, _ = loaded(export_mjcf(with_link(palida, 'leg1_ring', None)))
    assert model.body('leg1_ring').mass[0] == 1e-6
    np.testing.assert_allclose(model.body('leg1_ring').inertia, 1e-8)


def test_tree_urdf_drops_the_constraints_alone(palida):
    before = etree.fromstring(palida.urdf.encode())
    after = etree.fromstring(pkm_description.export(palida, 'urdf').encode())
    assert len(before.findall('constraint')) == 6 and after.find('constraint') is None
    for tag in ('link', 'joint', 'ros2_control'):
        expected = [element.get('name') for element in before.findall(tag)]
        assert [element.get('name') for element in after.findall(tag)] == expected


def test_errors_name_the_offender(palida):
    with pytest.raises(ExportError, match="'dxf'.*mjcf, urdf"):
        pkm_description.export(palida, 'dxf')
    with pytest.raises(ExportError, match='time step'):
        export_mjcf(palida, timestep=0.0)
    plate = Inertial(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(ExportError, match="link 'platform'.*principal inertias"):
        export_mjcf(with_link(palida, 'platform', plate))
    with pytest.raises(ExportError, match="joint 'platform_joint'.*base link"):
        export_mjcf(with_joint(palida, 'platform_joint', parent='leg1_ring'))
