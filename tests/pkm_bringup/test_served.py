"""A scene that is served to a browser: what its nodes show after each step."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.scene.limit_use import BEYOND, NO_LIMIT, STOPS, colours_of
from pkm_bringup.scene.moving import scene_at, scene_at_home, scene_of_trajectory
from pkm_bringup.scene.search_view import SearchView
from pkm_bringup.scene.served import CLOSEST, OWN, SceneServer, ViewError
from pkm_description import load
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset
from pkm_identification.excitation import ExcitationDesign, excitation_path
from pkm_identification.requests import design_request


@pytest.fixture(scope='module')
def model():
    return ClosedChainModel(load('five_bar'))


def test_colours_of_limits():
    shares = np.array([0.0, 0.25, 0.8, 1.0, 1.2, np.nan])
    found = colours_of(shares)
    quarter = 0.5 * (np.array(STOPS[0][1]) + STOPS[1][1])
    expected = [STOPS[0][1], quarter, STOPS[2][1], STOPS[3][1], BEYOND, NO_LIMIT]
    assert np.allclose(found, expected)


def test_a_view_without_viser_names_it_and_the_other_way(model, monkeypatch):
    monkeypatch.setitem(sys.modules, 'viser', None)
    with pytest.raises(ViewError, match=r'requirements/view\.txt.*--save'):
        SceneServer(scene_at_home(model), 0)


@pytest.fixture
def served(model):
    pytest.importorskip('viser')
    scene = scene_of_trajectory(model, preset(model, 'sine_all'), most=60)
    with SceneServer(scene, 0) as server:
        yield server, scene


def test_a_motion_is_played_in_its_time(served):
    server, scene = served
    half = int(np.argmin(np.abs(scene.time - 0.5 * scene.time[-1])))
    server.step(float(scene.time[half]))
    positions = np.array([link.position for link in server._links])
    assert np.allclose(positions, scene.position[half], atol=1e-6)
    server._play.value = False
    server._time.value = 0.0
    server.step(1.0)  # does not go on by itself
    positions = np.array([link.position for link in server._links])
    assert np.allclose(positions, scene.position[0], atol=1e-6)
    tails = server._arrows.points[: len(scene.arrows.names), 0]
    assert np.allclose(tails, scene.arrows.tail[0], atol=1e-6)


def test_colours_and_layers_follow_the_controls(served):
    server, scene = served
    server._play.value = False
    part, handle = next(each for each in server._parts if each[0].body == scene.platform)
    server._colours.value = OWN
    server.step(0.0)
    assert np.allclose(np.array(handle.color) / 255, part.colour, atol=0.003)
    server._colours.value = CLOSEST
    server._layers['path'].value = False
    server.step(0.0)
    use = np.fmax.reduce([values[0, part.body] for values in scene.use.values()])
    assert np.allclose(np.array(handle.color) / 255, colours_of(np.array([use]))[0], atol=0.003)
    assert not server._path.visible and server._arrows.visible


def test_sliders_of_the_joints_move_the_robot(model):
    pytest.importorskip('viser')
    scene = scene_at_home(model)
    ends = model.lower, model.upper
    pose = lambda q: scene_at(model, q, bodies=scene.bodies)  # noqa: E731
    with SceneServer(scene, 0, pose, ends) as server:
        q = model.home_actuators + [0.1, -0.05]
        for slider, value in zip(server._sliders, q, strict=True):
            slider.value = float(value)
        server.step(0.0)
        expected, _ = model.forward_kinematics(q[None])
        assert np.allclose(server._links[scene.platform].position, expected[0], atol=1e-3)
        with pytest.raises(ViewError, match='port'):
            SceneServer(scene, server.port)


def test_a_search_shows_its_best_motion_and_the_paths_of_all(model, tmp_path, monkeypatch, capsys):
    pytest.importorskip('viser')
    shown = []

    def look(view: SearchView) -> None:
        begun = time.monotonic()
        while view.server._scene.title != 'five_bar: motion 2, criterion -3':
            assert time.monotonic() - begun < 60.0, view.server._scene.title
            view._ended.wait(0.01)
        shown.append((len(view._paths), view.server.address, view._best))

    monkeypatch.setattr(SearchView, 'wait', look)

    def search(request, robot, tell, cancel, found):
        for size, criterion in ((0.2, -1.0), (0.4, -3.0), (0.1, -2.0)):
            found(preset(robot, 'sine_all', amplitude=size), criterion)
        return design

    path = excitation_path('five_bar')
    design = ExcitationDesign.load(path)
    monkeypatch.setattr(design_request, 'design_motion', search)
    command = ['excite', 'design', '--robot', 'five_bar', '--view', '--port', '0', '--json']
    assert cli.main([*command, '--output', str(tmp_path / 'design.yaml')]) == 0
    assert [(count, best) for count, _, best in shown] == [(3, -3.0)]
    assert 'shows the search' in capsys.readouterr().err
