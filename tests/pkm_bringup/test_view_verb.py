"""`pkm view`: the page that it writes, in a browser where there is one, and what it refuses."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import pkm_description
from pkm_dynamics import ClosedChainModel, load_trajectory

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
FLAGS = (
    *('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--dump-dom'),
    *('--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'),
    *('--virtual-time-budget=5000', '--enable-logging=stderr'),
)


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """A recording of the five-bar with a position that is no number."""
    path = tmp_path_factory.mktemp('view') / 'run.npz'
    time = 0.002 * np.arange(500)
    positions = [2.2, 0.9] + 0.1 * np.sin([3.0, 5.0] * time[:, None])
    positions[100:150, 1] = np.nan
    efforts = np.stack([np.cos(time), 2.0 + 0.0 * time], axis=1)
    names = ['left_motor', 'right_motor']
    np.savez(path, time=time, joint_names=names, positions=positions, efforts=efforts)
    return path


def test_a_recording_becomes_a_page(recorded, prints):
    page = recorded.with_name('page.html')
    told = json.loads(
        prints('view', 'five_bar', '--bag', recorded, '--save', page, '--frames', '100', '--json')
    )
    assert told['frames'] == 100 and told['known'] == 90
    assert any("no position of 'right_motor' at 0.2" in note for note in told['notes'])
    text = page.read_text()
    assert text.startswith('<!doctype html>') and len(text) < 100_000
    assert all(note in html.unescape(text) for note in told['notes'])


def test_a_motion_becomes_a_page(tmp_path, prints):
    page = tmp_path / 'page.html'
    told = json.loads(
        prints('view', 'five_bar', '--motion', 'shipped', '--workspace', '--save', page, '--json')
    )
    assert told['frames'] == told['known'] == 240
    assert '"workspace": {' in page.read_text()


def test_what_does_not_fit_is_refused(recorded, tmp_path, fails):
    page = tmp_path / 'page.html'
    assert 'needs --bag' in fails('view', 'five_bar', '--topic', 'x', '--save', page)
    message = fails('view', 'five_bar', '--bag', recorded, '--model', 'm.yaml', '--save', page)
    assert 'measured forces' in message
    assert '.html' in fails('view', 'five_bar', '--save', tmp_path / 'page.txt')
    assert "no trajectory file 'nowhere'" in fails(
        'view', 'five_bar', '--motion', 'nowhere', '--save', page
    )
    assert '--live writes nothing' in fails('view', 'five_bar', '--live', '--save', page)
    page.write_text('mine')
    assert 'exists' in fails('view', 'five_bar', '--save', page)
    assert page.read_text() == 'mine'


def test_a_browser_draws_the_page(tmp_path, prints):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f'needs one of {", ".join(BROWSERS)}')
    motion, page = tmp_path / 'motion.yaml', tmp_path / 'page.html'
    prints('excite', 'preset', 'sine_left_motor', '--robot', 'five_bar', '--output', motion)
    prints('view', 'five_bar', '--motion', motion, '--save', page)
    done = subprocess.run(
        [browser, *FLAGS, f'--user-data-dir={tmp_path}', f'file://{page}#t=0&colours=closest'],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert 'data-state="drawn"' in done.stdout
    assert ':CONSOLE' not in done.stderr, done.stderr
    rows = re.findall(r'<tr>(<td>.*?)</tr>', done.stdout)
    cells = [re.findall(r'<td[^>]*>(.*?)</td>', row) for row in rows]
    shown = {name: [float(text.replace('−', '-')) for text in values] for name, *values in cells}
    model = ClosedChainModel(pkm_description.load('five_bar'))
    begin = load_trajectory(motion).motion([0.0], model)
    states, forces = model.actuator_states(begin), model.inverse_dynamics(begin)
    for k, name in enumerate(model.actuated_joints):
        expected = [states.positions[0, k], states.velocities[0, k], forces[0, k]]
        assert shown[name][:3] == pytest.approx(expected, rel=1e-3, abs=2e-3)
