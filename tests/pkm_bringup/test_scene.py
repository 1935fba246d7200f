"""What is shown of a robot: poses, forces, limits, shapes, gaps of a recording."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest
from excitations import excitation
from hexapods import hexapod
from mechanisms import serial_arm, tripod

from pkm_bringup.scene import mesh_files
from pkm_bringup.scene.drawn_links import JOINTS, build_bodies
from pkm_bringup.scene.encoded import STEPS, encoded
from pkm_bringup.scene.limit_use import LIMITS, closest_limit, limit_use
from pkm_bringup.scene.meshes import Mesh, box, cell_surface, coarse, cylinder, plate, rod, sphere
from pkm_bringup.scene.moving import scene_at_home, scene_of_recording, scene_of_trajectory
from pkm_bringup.scene.page import page
from pkm_bringup.scene.scene import build_scene
from pkm_description import load
from pkm_description.errors import DatasetError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.limits.robot_limits import LimitOptions
from pkm_identification.datasets import Recording


@pytest.fixture(scope='module')
def palida():
    return ClosedChainModel(load('palida'))


@pytest.fixture(scope='module')
def scene(palida):
    return scene_of_trajectory(palida, excitation(), 'circle </script>', most=40)


def volume(mesh: Mesh) -> float:
    """Volume by the divergence theorem; positive where triangles are counterclockwise."""
    a, b, c = mesh.corners.transpose(1, 0, 2)
    return float(np.einsum('ni,ni->', a, np.cross(b, c)) / 6.0)


def is_closed(mesh: Mesh) -> bool:
    """Whether each edge is that of two triangles, once in either direction."""
    edges = np.concatenate([mesh.triangles[:, [k, (k + 1) % 3]] for k in range(3)])
    there = {tuple(edge) for edge in edges.tolist()}
    return len(there) == len(edges) and all((b, a) in there for a, b in there)


def test_bodies_are_closed_and_look_outwards():
    square = np.array([[0.0, 0, 0], [1, 1, 0], [1, 0, 0], [0, 1, 0]])
    cases = [
        (box((1.0, 2.0, 3.0)), 6.0, 1e-12),
        (cylinder(0.5, 2.0), 0.5 * np.pi, 0.02),
        (sphere(1.0), 4.0 / 3.0 * np.pi, 0.05),
        (rod((0, 0, 1), (3, 0, 1), 0.1), 0.03 * np.pi, 0.02),
        (plate(square, 0.1), 0.1, 1e-9),
    ]
    for mesh, expected, tolerance in cases:
        assert is_closed(mesh)
        assert volume(mesh) == pytest.approx(expected, rel=tolerance)
    assert np.ptp(rod((0, 0, 1), (3, 0, 1), 0.1).vertices[:, 0]) == pytest.approx(3.0)


def test_the_surface_of_cells_holds_them():
    ticks = [np.linspace(-1.0, 1.0, 21) + shift for shift in (0.0, 0.5, -2.0)]
    x, y, z = np.meshgrid(*ticks, indexing='ij')
    ball = x**2 + (y - 0.5) ** 2 + (z + 2.0) ** 2 < 0.81**2
    mesh = cell_surface(ball, ticks)
    assert is_closed(mesh)
    assert volume(mesh) == pytest.approx(4.0 / 3.0 * np.pi * 0.81**3, rel=0.1)
    assert np.allclose(mesh.vertices.mean(axis=0), [0.0, 0.5, -2.0], atol=1e-9)
    assert len(cell_surface(np.zeros((3, 3, 3), bool), ticks).triangles) == 0


def test_a_large_mesh_becomes_small_and_keeps_its_size():
    fine = sphere(1.0, 2000)
    few = coarse(fine, 4000)
    assert len(few.triangles) <= 4000 < len(fine.triangles)
    assert volume(few) == pytest.approx(volume(fine), rel=0.05)


def test_links_are_where_the_kinematics_put_them(palida, scene):
    trajectory = excitation()
    motion = trajectory.motion(scene.time, palida)
    assert np.allclose(scene.path, motion.position, atol=1e-12)
    for constraint in palida.description.constraints:
        ends = []
        for link, origin in (
            (constraint.parent, constraint.parent_origin),
            (constraint.child, constraint.child_origin),
        ):
            k = scene.bodies.names.index(link)
            ends.append(scene.position[:, k] + scene.rotation[:, k] @ origin.position)
        assert np.allclose(ends[0], ends[1], atol=1e-9), constraint.name


def test_forces_of_struts_without_mass_carry_the_platform(palida):
    rng = np.random.default_rng(3)
    mass, parameters = 2.5, np.zeros(palida.n_p)
    parameters[palida.parameter_names.index('platform.m')] = mass
    q = palida.home_actuators + 0.005 * rng.standard_normal((4, 6))
    still = np.zeros_like(q)
    motion = palida.motion_from_actuators(q, still, still)
    forces = palida.inverse_dynamics(motion, parameters)
    arrows = build_scene(palida, motion, np.arange(4.0), forces).arrows
    assert not any(arrows.moment)
    weight = -mass * palida.description.gravity
    assert np.allclose(arrows.vector.sum(axis=1), weight, atol=1e-9)
    lever = arrows.tail - motion.position[:, None]
    assert np.allclose(np.cross(lever, arrows.vector).sum(axis=1), 0.0, atol=1e-9)


def test_moments_are_along_the_axes_of_their_joints():
    model = ClosedChainModel(serial_arm())
    scene = scene_at_home(model)
    forces = scene.actuators['force'][0]
    assert all(scene.arrows.moment)
    assert np.allclose(np.linalg.norm(scene.arrows.vector[0], axis=1), np.abs(forces), atol=1e-12)


def test_colours_are_one_at_a_limit_and_none_without(palida):
    q = np.array([palida.home_actuators, palida.home_actuators])
    middle = 0.5 * (palida.lower + palida.upper)
    q[1] = middle + 0.5 * (palida.upper - middle)
    rates = np.zeros((2, 6))
    rates[1, 2] = -palida.velocity_limit[2]
    motion = palida.motion_from_actuators(q, rates, np.zeros((2, 6)))
    forces = np.tile(0.25 * palida.force_limit, (2, 1))
    forces[1, 4] *= -8.0
    use = limit_use(palida, motion, forces)
    names = ('base', *palida.tree_layout.tree.body_names)
    robot = palida.description
    child = [names.index(robot.joint(name).child) for name in palida.actuated_joints]
    assert np.allclose(use['stroke'][1, child], 0.5)
    assert np.allclose(use['velocity'][1, child], [0, 0, 1, 0, 0, 0])
    assert np.allclose(use['force'][1, child], [0.25, 0.25, 0.25, 0.25, 2.0, 0.25])
    jacobian = palida.jacobian(motion.position, motion.rotation)
    platform = names.index(robot.platform)
    found = use['condition'][:, platform]
    assert np.isnan(use['condition']).sum() == use['condition'].size - 2
    assert 0.0 < found.min() and found.max() < 1.0
    condition = LimitOptions.condition_limit**found
    assert np.all(condition <= np.linalg.cond(jacobian) * 10.0) and np.all(condition > 1.0)
    assert np.isnan(use['force'][:, platform]).all()
    assert closest_limit(use)[1, child[4]] == 2.0
    assert set(use) == set(LIMITS)


def recording(model, time, positions, valid=None):
    efforts = np.tile(np.arange(1.0, 1.0 + model.n_a), (len(time), 1))
    return Recording.from_arrays(
        time, model.actuated_joints, positions, efforts, position_valid=valid
    ).for_model(model)


def test_gaps_and_lost_samples_of_a_recording_are_named_and_not_invented(palida):
    time = 10.0 + 0.002 * np.arange(1001)
    shape = np.sin(2 * np.pi * (time[:, None] - 10.0) + np.arange(6))
    positions = palida.home_actuators + 0.02 * shape
    valid = np.ones(positions.shape, bool)
    valid[600:700, 3] = False
    kept = (time < 10.501) | (time > 10.799)
    data = recording(palida, time[kept], positions[kept], valid[kept])
    scene = scene_of_recording(palida, data, most=101)
    lost = (scene.time > 10.501) & (scene.time < 10.799)
    lost |= (scene.time > 11.199) & (scene.time < 11.399)
    assert np.array_equal(~scene.known, lost)
    expected, _ = palida.forward_kinematics(
        palida.home_actuators
        + 0.02 * np.sin(2 * np.pi * (scene.time[scene.known, None] - 10.0) + np.arange(6))
    )
    assert np.allclose(scene.path[scene.known], expected, atol=1e-9)
    assert len(np.unique(scene.path[~scene.known], axis=0)) == 2  # held
    assert np.allclose(scene.actuators['force'], np.arange(1.0, 7.0))
    speed = scene.actuators['velocity'][scene.known]
    assert np.abs(speed).max() == pytest.approx(0.02 * 2 * np.pi, rel=0.02)
    notes = ' / '.join(scene.notes)
    joint = palida.actuated_joints[3]
    assert re.search(r'no samples at 0\.52 to 0\.78 s', notes), notes
    assert re.search(rf"no position of '{joint}' at 1\.2 to 1\.38 s", notes), notes


def test_loops_that_do_not_close_are_named(palida):
    time = 0.01 * np.arange(50)
    positions = np.tile(palida.home_actuators, (50, 1))
    positions[20:30, 0] *= 5.0
    scene = scene_of_recording(palida, recording(palida, time, positions), most=50)
    assert np.array_equal(np.flatnonzero(~scene.known), np.arange(20, 30))
    assert any('loops do not close at 0.2 to 0.29 s' in note for note in scene.notes)
    with pytest.raises(DatasetError, match='the loops close nowhere'):
        scene_of_recording(palida, recording(palida, time[:10], positions[20:30]), most=5)


@pytest.mark.parametrize('make', [hexapod, tripod, serial_arm])
def test_a_robot_without_visuals_is_drawn_from_its_kinematics(make):
    model = ClosedChainModel(make())
    bodies = build_bodies(model)
    assert bodies.is_skeleton
    assert {part.body for part in bodies.parts} == set(range(len(bodies.names)))
    assert any(part.layer == JOINTS for part in bodies.parts)
    drawn = {part.body: part.mesh.vertices for part in bodies.parts if part.layer != JOINTS}
    for joint in model.description.joints:
        if joint.type in ('floating', 'prismatic') or not np.any(joint.origin.position):
            continue
        near = drawn[bodies.names.index(joint.parent)] - joint.origin.position
        assert np.linalg.norm(near, axis=1).min() < 0.05 * bodies.size, joint.name


TETRAHEDRON = """solid part
facet normal 0 0 -1
 outer loop
  vertex 0 0 0
  vertex 0 100 0
  vertex 100 0 0
 endloop
endfacet
facet normal 1 1 1
 outer loop
  vertex 100 0 0
  vertex 0 100 0
  vertex 0 0 100
 endloop
endfacet
endsolid part
"""


def with_mesh(tmp_path, uri):
    visual = (
        f'<visual><origin xyz="0 0 1"/><geometry><mesh filename="{uri}" '
        'scale="0.001 0.001 0.001"/></geometry></visual>'
    )
    robot = hexapod()
    text = robot.urdf.replace('<link name="platform">', f'<link name="platform">{visual}')
    assert text != robot.urdf
    return ClosedChainModel(replace(robot, urdf=text, path=tmp_path / 'my_robot' / 'a.urdf'))


def test_meshes_of_a_package_are_shown_in_metres(tmp_path):
    pytest.importorskip('trimesh')
    file = tmp_path / 'my_robot' / 'meshes' / 'part.stl'
    file.parent.mkdir(parents=True)
    file.write_text(TETRAHEDRON)
    bodies = build_bodies(with_mesh(tmp_path, 'package://my_robot/meshes/part.stl'))
    body = bodies.names.index('platform')
    (part,) = [each for each in bodies.parts if each.body == body]
    assert np.allclose(part.mesh.vertices.max(axis=0), [0.1, 0.1, 1.1])
    assert not bodies.notes and not bodies.is_skeleton


def test_meshes_that_cannot_be_shown_are_named(tmp_path, monkeypatch):
    bodies = build_bodies(with_mesh(tmp_path, 'package://other/part.stl'))
    assert bodies.notes == ("link 'platform': mesh 'package://other/part.stl' is not there",)
    assert bodies.is_skeleton
    (tmp_path / 'my_robot').mkdir()
    (tmp_path / 'my_robot' / 'broken.stl').write_bytes(b'no mesh')
    bodies = build_bodies(with_mesh(tmp_path, 'broken.stl'))
    assert "mesh 'broken.stl'" in bodies.notes[0]
    monkeypatch.setattr(mesh_files, 'MOST_BYTES', 3)
    assert 'MB' in build_bodies(with_mesh(tmp_path, 'broken.stl')).notes[0]


def decoded(text: str):
    """Content of a stored scene and a function that reads its arrays, as the player does."""
    content = json.loads(text)
    blob = zlib.decompress(b64decode(content['blob']))

    def read(what):
        shape, at = what['shape'], what['at']
        size = int(np.prod(shape))
        if what['kind'] != 'steps':
            kind = np.dtype(f'<{what["kind"]}')
            return np.frombuffer(blob, kind, size, at).reshape(shape)
        low, high = np.frombuffer(blob, np.uint8, 2 * size, at).reshape(2, -1, shape[0]).astype(int)
        steps = np.cumsum(low + 256 * high, axis=1) % 65536
        return (what['low'] + what['step'] * steps).T.reshape(shape)

    return content, read


def test_a_stored_scene_is_the_scene(scene):
    content, read = decoded(encoded(scene))
    position, turn = read(content['position']), read(content['rotation'])
    assert np.allclose(position, scene.position, atol=np.ptp(scene.position) / STEPS)
    x, y, z, w = np.moveaxis(turn, -1, 0)
    assert np.allclose(2 * (x * y - z * w), scene.rotation[..., 0, 1], atol=1e-4)
    assert np.allclose(2 * (x * z + y * w), scene.rotation[..., 0, 2], atol=1e-4)
    assert np.abs(np.diff(turn, axis=0)).max() < 0.2  # no jump of the sign
    assert np.allclose(read(content['time']), scene.time)
    for name in LIMITS:
        use = content['use'][name]
        steps = read(use['values'])
        assert np.allclose(steps / 200, scene.use[name][:, use['bodies']], atol=0.0026)
        assert np.isnan(np.delete(scene.use[name], use['bodies'], axis=1)).all()
    force = read(content['values']['force']['values'])
    assert np.allclose(force, scene.actuators['force'], atol=np.ptp(force) / STEPS)
    for body, mesh, _, _ in content['parts']:
        assert body < len(scene.bodies.names) and mesh < len(content['meshes'])
    # legs of one design are stored once
    assert len(content['meshes']) < 0.6 * len(content['parts'])


def test_a_page_needs_nothing_else(scene):
    text = page(scene)
    assert len(text) < 200_000
    text = re.sub(r'"blob": "[\w+/=]+"', '', text)
    assert not re.search(r'(?:https?:)?//[a-z]|\bsrc\s*=|\bhref\s*=|@import|\burl\(|import\(', text)
    assert not re.search(r'\b(fetch|XMLHttpRequest|WebSocket|eval)\b', text)
    # the title closes no element early
    assert text.count('</script>') == 2 and '&lt;/script&gt;' in text
