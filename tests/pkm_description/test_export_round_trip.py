"""Exports read back by independent means: the same robot, the same forces."""

import dataclasses
import re

import mujoco
import numpy as np
import pytest
from closed_chains import CHAINS, closed_chain
from drawn_parameters import drawn_parameters
from mechanisms import five_bar, four_bar, serial_arm, skew_hexapod, tripod

import pkm_description
from pkm_description import Inertial, build_export
from pkm_description.exporters import build_mjcf
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.parameters.rewritten_description import rewritten
from pkm_dynamics.simulation.mjcf_tree import MjcfTree

RUBBING = """
friction:
  closure: {coulomb: 0.3, viscous: 0.2}
  joint3: {model: asymmetric, coulomb: 0.7, coulomb_negative: 0.4, viscous: 0.1}
rotor_inertia: {joint1: 0.05}
"""


def rubbing_chain(kind, turned=False):
    """A closed chain with friction in a joint and in the closing constraint, and a rotor."""
    plain = closed_chain(kind, turned)
    extra = RUBBING.replace('closure', 'joint5') if kind == 'fixed' else RUBBING
    if 'joint1' not in plain.actuated_joints:
        extra = extra.replace('joint1', plain.actuated_joints[0])
    return pkm_description.loads(plain.urdf, plain.yaml_text + extra)


def reversed_chain(kind):
    """A closed chain whose constraint stands the other way round, from the platform to the base."""
    plain = rubbing_chain(kind, turned=True)
    head, block, tail = re.split('(<constraint.*</constraint>)', plain.urdf, flags=re.DOTALL)
    block = block.replace('parent', 'end').replace('child', 'parent').replace('end', 'child')
    return pkm_description.loads(head + block + tail, plain.yaml_text)


def swinging_arm():
    """The serial arm whose last joint has no drive."""
    plain = serial_arm()
    text = plain.urdf.replace(
        '<joint name="joint3"><command_interface name="effort"/>', '<joint name="joint3">'
    )
    return pkm_description.loads(text, plain.yaml_text + 'free_joints: [joint3]\n')


def identified(name):
    """A robot of the library whose texts say other bodies, friction and rotors."""
    model = ClosedChainModel(pkm_description.load(name))
    return rewritten(model.description, drawn_parameters(model, 8, alike=False))


def sprung_arm():
    """A serial arm whose drives have springs, one of them under load at rest."""
    plain = serial_arm()
    springs = 'drives: {"*": {stiffness: 7.0, rest: 0.3}, joint2: {offset: 1.5}}\n'
    return pkm_description.loads(plain.urdf, plain.yaml_text + springs)


ROBOTS = {
    **{f'chain_{kind}': (lambda kind=kind: rubbing_chain(kind)) for kind in CHAINS},
    **{f'turned_{kind}': (lambda kind=kind: rubbing_chain(kind, True)) for kind in CHAINS},
    **{f'reversed_{kind}': (lambda kind=kind: reversed_chain(kind)) for kind in CHAINS},
    'skew_hexapod': skew_hexapod,
    'skew_hexapod_massless_rings': lambda: skew_hexapod(rings=False),
    'tripod': tripod,
    'five_bar': five_bar,
    'four_bar': four_bar,
    'four_bar_universal': lambda: four_bar('universal'),
    'serial_arm': serial_arm,
    'swinging_arm': swinging_arm,
    'sprung_arm': sprung_arm,
    **{
        f'library_{name}': (lambda name=name: pkm_description.load(name))
        for name in pkm_description.library()
    },
    **{
        f'identified_{name}': (lambda name=name: identified(name))
        for name in pkm_description.library()
    },
}
_models = {}


@pytest.fixture(params=ROBOTS)
def robot(request):
    """Description, model and a motion near home (3 samples), computed once a robot."""
    if request.param not in _models:
        description = ROBOTS[request.param]()
        model = ClosedChainModel(description)
        rng = np.random.default_rng(11)
        linear = [description.joint(n).type == 'prismatic' for n in model.actuated_joints]
        size = np.where(linear, 0.02, 0.01)
        q = model.home_actuators + size * rng.uniform(-1, 1, (3, model.n_a))
        qd, qdd = rng.uniform(-1, 1, (2, 3, model.n_a))
        _models[request.param] = description, model, (q, qd, 3.0 * qdd)
    return _models[request.param]


def forces_of(model, motion, parameters):
    return model.inverse_dynamics(model.motion_from_actuators(*motion), parameters)


def assert_same(engine, model, motion, parameters, tolerance):
    expected = forces_of(model, motion, parameters)
    found = np.array([engine.forces(*sample) for sample in zip(*motion, strict=True)])
    scale = np.max(np.abs(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


def parameters_left(model, lost_friction):
    """Nominal parameters without what a format leaves out or averages of the friction."""
    values = dict(zip(model.parameter_names, model.nominal_parameters, strict=True))
    for constraint in model.description.constraints:
        for kind in lost_friction.get(constraint.type, ()):
            if f'{constraint.name}.{kind}' in values:
                values[f'{constraint.name}.{kind}'] = 0.0
    for name in [name for name in values if name.endswith('.coulomb_positive')]:
        other = name.replace('positive', 'negative')
        values[name] = values[other] = 0.5 * (values[name] + values[other])
    return np.array(list(values.values()))


def with_stand_ins(description, inertia):
    """The description with the rotational inertia that massless links get on their joints."""
    tiny = Inertial(0.0, np.zeros(3), inertia * np.eye(3))
    joints = {joint.child: joint.type for joint in description.joints}
    links = tuple(
        dataclasses.replace(link, inertial=tiny)
        if link.inertial is None and joints.get(link.name, 'fixed') != 'fixed'
        else link
        for link in description.links
    )
    return dataclasses.replace(description, links=links)


BOTH = ('coulomb', 'viscous')


def test_mjcf_in_mujoco(robot):
    description, model, motion = robot
    engine = MjcfTree(pkm_description.export(description, 'mjcf'), model.actuated_joints)
    left = parameters_left(model, {'spherical': BOTH, 'universal': BOTH, 'revolute': BOTH})
    assert_same(engine, model, motion, left, 1e-6)


@pytest.mark.parametrize('form', ['graph', 'gazebo'])
def test_sdf_in_a_reader_of_its_own(robot, form):
    pytest.importorskip('pinocchio')
    from sdf_robot import SdfRobot

    description, model, motion = robot
    exported = build_export(description, 'sdf', form)
    engine = SdfRobot(exported.text, model.actuated_joints, description.transition_velocity)
    lost = {'spherical': BOTH, 'universal': ('coulomb',)}
    tolerance = 1e-6
    if form == 'gazebo':  # larger stand-ins; rotors on struts that turn have angular momentum
        tolerance = 1e-2 if any('on a screw' in line for line in exported.losses) else 1e-4
    assert_same(engine, model, motion, parameters_left(model, lost), tolerance)
    solid = ClosedChainModel(with_stand_ins(description, 1e-6 if form == 'gazebo' else 1e-12))
    heavier = any('kg and' in line for line in exported.losses)  # no neighbour to take it from
    exact = tolerance if heavier or tolerance > 1e-4 else 1e-9
    assert_same(engine, solid, motion, parameters_left(solid, lost), exact)


def test_urdf_in_our_loader_and_in_pinocchio(robot):
    description, model, motion = robot
    exported = build_export(description, 'urdf', strict=True)
    again = pkm_description.loads(exported.text, exported.sidecar)
    reloaded = ClosedChainModel(again)
    assert reloaded.parameter_names == model.parameter_names
    np.testing.assert_array_equal(reloaded.nominal_parameters, model.nominal_parameters)
    expected = forces_of(model, motion, None)
    np.testing.assert_array_equal(forces_of(reloaded, motion, None), expected)
    if {c.type for c in description.constraints} & {'fixed', 'prismatic'}:
        return
    pytest.importorskip('pinocchio')
    from pinocchio_oracle import PinocchioOracle

    oracle = PinocchioOracle(again)
    rigid = np.where(model.parameter_mask('rigid_body'), model.nominal_parameters, 0.0)
    expected = forces_of(model, motion, rigid)
    moved = model.motion_from_actuators(*motion)
    found = np.array([oracle.forces(model, moved, k) for k in range(len(expected))])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.max(np.abs(expected)))


def test_tree_urdf_keeps_the_inertias():
    """Without constraints the tree is what is left: Pinocchio knows all bodies."""
    pinocchio = pytest.importorskip('pinocchio')
    description = skew_hexapod()
    tree = pinocchio.buildModelFromXML(pkm_description.export(description, 'urdf', 'tree'))
    for link in description.links:
        if link.inertial is not None:
            joint = next(j.name for j in description.joints if j.child == link.name)
            body = tree.inertias[tree.getJointId(joint)]
            assert body.mass == pytest.approx(link.inertial.mass, rel=1e-15)
            np.testing.assert_allclose(body.lever, link.inertial.com, rtol=0, atol=1e-15)
            np.testing.assert_allclose(body.inertia, link.inertial.inertia, rtol=0, atol=1e-15)


def test_massless_tool_leaves_the_dynamics_as_they_are():
    """A massless link fixed to a body takes its stand-in inertia from that body."""
    pytest.importorskip('pinocchio')
    from sdf_robot import SdfRobot

    plain = serial_arm()
    text = plain.urdf.replace('"platform"', '"hand"').replace(
        '</robot>',
        '<link name="platform"/><joint name="tool" type="fixed"><parent link="hand"/>'
        '<child link="platform"/><origin xyz="0.3 0.1 -0.2" rpy="0.2 0.5 1"/></joint></robot>',
    )
    description = pkm_description.loads(text, plain.yaml_text)
    model = ClosedChainModel(description)
    q = model.home_actuators + np.array([[0.1, -0.2, 0.3]])
    motion = (q, np.array([[0.4, -0.6, 0.9]]), np.array([[2.0, 1.0, -3.0]]))
    exported = build_export(description, 'sdf', strict=True)
    assert_same(SdfRobot(exported.text, model.actuated_joints), model, motion, None, 1e-12)
    mjcf = build_export(description, 'mjcf', strict=True).text
    assert_same(MjcfTree(mjcf, model.actuated_joints), model, motion, None, 1e-12)


def test_joints_without_a_drive_take_no_force():
    description = swinging_arm()
    assert description.free_joints == ['joint3']
    motors = mujoco.MjModel.from_xml_string(pkm_description.export(description, 'mjcf')).nu
    text = pkm_description.export(description, 'sdf', 'gazebo')
    systems = text.count('gz::sim::systems::ApplyJointForce')
    assert motors == systems == 2


@pytest.mark.parametrize('edit', [('<mass>3', '<mass>4'), ('<xyz>0.0 1.0', '<xyz>0.1 1.0')])
def test_the_reader_notices_an_edit(edit):
    """The round trip is no tautology: one digit of the SDF changes the forces."""
    pytest.importorskip('pinocchio')
    from sdf_robot import SdfRobot

    model = ClosedChainModel(serial_arm())
    text = pkm_description.export(model.description, 'sdf')
    assert edit[0] in text
    engine = SdfRobot(text.replace(*edit), model.actuated_joints)
    motion = (model.home_actuators[None] + 0.1, np.ones((1, 3)), np.ones((1, 3)))
    with pytest.raises(AssertionError):
        assert_same(engine, model, motion, None, 1e-6)


@pytest.mark.parametrize('joint_friction', [True, False])
def test_our_forces_hold_palida_in_mujoco(joint_friction):
    """Static forces as feedforward, nothing else: the exported robot stays at home."""
    description = pkm_description.load('palida')
    model = ClosedChainModel(description)
    still = np.zeros((1, model.n_a))
    hold = forces_of(model, (model.home_actuators[None], still, still), None)[0]
    text = build_mjcf(description, timestep=5e-4, joint_friction=joint_friction).text
    plant = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(plant)

    def drop(forces):
        mujoco.mj_resetDataKeyframe(plant, data, 0)
        data.ctrl[:] = forces
        while data.time < 0.3:
            mujoco.mj_step(plant, data)
        return np.linalg.norm(data.body('platform').xpos - description.home.position)

    assert drop(hold) < 1e-8
    assert drop(0.0 * hold) > 1e-2
