"""Pictures of robots: what is where, in which colour, for robots with shapes and without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pkm_bringup import cli
from pkm_bringup.scene import still
from pkm_bringup.scene.drawn_links import DRIVE, JOINTS, build_bodies
from pkm_description import examples, load
from pkm_dynamics import ClosedChainModel, mechanism_model

STRANGERS = Path(__file__).parents[1] / 'pkm_description' / 'strangers'
ORANGE, BLUE, RED = (0.93, 0.55, 0.14), (0.13, 0.42, 0.72), (0.8, 0.2, 0.2)


def _pixels(path):
    return np.asarray(Image.open(path).convert('RGB')) / 255.0


def _share(pixels, colour):
    """Share of the pixels that have the hue of a colour."""
    drawn = pixels.min(axis=2) < 0.99
    pixels = pixels / np.maximum(pixels.max(axis=2, keepdims=True), 1e-9)
    hue = np.abs(pixels - np.array(colour) / max(colour)).max(axis=2) < 0.12
    return float(np.mean(drawn & hue))


def test_a_robot_with_shapes(tmp_path):
    path = tmp_path / 'rrr.png'
    robot = 'pkm_description/pkm_description/examples/planar_rrr.urdf.xacro'
    root = Path(__file__).parents[2]
    assert cli.main(['describe', str(root / robot), '--picture', str(path)]) == 0
    pixels = _pixels(path)
    assert pixels.shape == (800, 960, 3)
    assert path.stat().st_size < 100_000
    # three cranks, a triangle, three closures; the rest is the base plate and white
    assert 0.002 < _share(pixels, ORANGE) < 0.03
    assert 0.005 < _share(pixels, BLUE) < 0.06
    assert 0.0005 < _share(pixels, RED) < 0.02
    drawn = np.argwhere(pixels.min(axis=2) < 0.99)
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    assert np.all(low > 0) and np.all(high < [799, 959])
    assert np.max((high - low) / [800, 960]) == pytest.approx(1.0 - 2.0 * still.MARGIN, abs=0.01)


def test_a_robot_without_shapes_is_drawn_from_its_joints():
    model = ClosedChainModel(load(STRANGERS / 'planar.urdf'))
    small = np.asarray(still.picture(model, np.array([240, 200])).convert('RGB')) / 255.0
    assert small.shape == (200, 240, 3)
    assert _share(small, RED) > 0.0005  # the constraint
    assert 0.02 < np.mean(small.min(axis=2) < 0.99) < 0.3


# the plate of the Quattro hides behind its joints
@pytest.mark.parametrize('name', sorted({*examples()} - {'quattro'}))
def test_each_example_shows_its_platform(name):
    image = still.picture(mechanism_model(load(name)), np.array([240, 200]))
    assert _share(np.asarray(image.convert('RGB')) / 255.0, ORANGE) > 0.002


def test_of_pins_along_one_axis_one_is_drawn():
    """In a spherical mechanism three axes stand in one point, each of them that of three joints."""
    bodies = build_bodies(ClosedChainModel(load('agile_eye')))
    markers = [part for part in bodies.parts if part.layer == JOINTS]
    assert [part.colour for part in markers] == [DRIVE] * 3
    with_all = build_bodies(ClosedChainModel(load('planar_rrr')))
    assert sum(part.layer == JOINTS for part in with_all.parts) == 9


def test_what_is_nearer_covers_what_is_behind():
    """Two squares that face the eye: the right half of the farther one is hidden."""
    square = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]], float)
    nearer = square * [0.5, 1.0, 1.0] + [0.5, 0.0, 0.2]
    colours = np.repeat([ORANGE, BLUE], 2, axis=0)
    image = still.render(np.concatenate([square, nearer]), colours, np.array([100, 100]))
    pixels = np.asarray(image.convert('RGB')) / 255.0
    np.testing.assert_allclose(pixels[50, 30], ORANGE, atol=0.02)
    np.testing.assert_allclose(pixels[50, 70], BLUE, atol=0.02)


def test_a_picture_goes_to_a_new_png(tmp_path, capsys):
    taken = tmp_path / 'there.png'
    taken.write_text('kept')
    assert cli.main(['describe', 'four_bar', '--picture', str(taken)]) != 0
    assert cli.main(['describe', 'four_bar', '--picture', str(tmp_path / 'robot.jpg')]) != 0
    said = capsys.readouterr().err
    assert 'exists already' in said and 'must end in .png' in said
    assert taken.read_text() == 'kept'
