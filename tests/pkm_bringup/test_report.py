"""`pkm report`: every number of its page against the files, what is missing, and a browser."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml
from report_pages import (
    Reader,
    check_in_a_browser,
    check_numbers,
    check_parameters,
    check_validation,
    same,
)

import pkm_description
from pkm_bringup import cli
from pkm_bringup.reports.run_files import files_of
from pkm_bringup.reports.svg import MOST, thinned
from pkm_bringup.views.console import cell_text
from pkm_bringup.views.tracking_view import (
    TrackedRun,
    best_factor,
    observed_gains,
    tracked_run,
    tracking_rows,
    tracking_table,
)
from pkm_description.errors import DatasetError
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.presets import preset
from pkm_identification.datasets.bags.bag_writer import BagWriter
from pkm_identification.datasets.bags.message_types import complete_typestore, jazzy_typestore
from pkm_identification.excitation import excitation_path, load_excitation

STATES = 'pkm_msgs/msg/ControllerState'


def record(path, trajectory, periods, seed):
    """Write what a five-bar with the described parameters measures, with noise, at 1 kHz."""
    model = ClosedChainModel(pkm_description.load('five_bar'))
    time = 0.001 * np.arange(periods * round(1000 * trajectory.period))
    motion = trajectory.motion(time, model)
    states, forces = model.actuator_states(motion), model.inverse_dynamics(motion)
    noise = np.random.default_rng(seed).standard_normal((2, *forces.shape))
    np.savez(
        path,
        time=time,
        joint_names=model.actuated_joints,
        positions=states.positions + 1e-5 * noise[0],
        efforts=forces + 0.1 * noise[1],
        period=trajectory.period,
        truth_time=time,
        truth_positions=states.positions,
        truth_velocities=states.velocities,
        truth_forces=forces,
    )


@pytest.fixture(scope='module')
def made(tmp_path_factory):
    """A run of the five-bar: two recordings and a model, and its report."""
    folder = tmp_path_factory.mktemp('report') / 'first_run'
    folder.mkdir()
    known, other, model = (folder / name for name in ('known.npz', 'other.npz', 'model.yaml'))
    robot = ClosedChainModel(pkm_description.load('five_bar'))
    record(known, load_excitation('five_bar'), 4, 1)
    record(other, preset(robot, 'sine_all'), 3, 2)
    report = folder.parent / 'report.html'
    for words in (
        ('identify', known, '--robot', 'five_bar', '--output', model),
        ('report', folder, '--output', report),
    ):
        assert cli.main([str(word) for word in words]) == 0
    return folder, report, Reader(report.read_text())


def test_parameters_are_those_of_the_model_file(made):
    folder, _, page = made
    check_parameters(page, folder / 'model.yaml')
    assert page.sections[0] == 'verdict'


def test_every_number_is_embedded_in_full_and_written_as_on_a_terminal(made):
    _, report, page = made
    assert len(page.numbers) > 60
    check_numbers(page, report, pictures=7)


def test_values_are_those_of_the_other_verbs(made, prints):
    folder, _, page = made
    told = json.loads(page.embedded)
    model, other = folder / 'model.yaml', str(folder / 'other.npz')
    words = ('validate', other, '--robot', 'five_bar', '--model', model, '--json')
    validated = json.loads(prints(*words))
    check_validation(page, other, validated)
    assert list(told['fits']) == [str(folder / 'known.npz')]
    looked = json.loads(prints('data', folder / 'known.npz', 'five_bar', '--json'))
    assert same(told['recordings'][str(folder / 'known.npz')], looked)
    errors = validated['against_measured']['relative_absolute_error']
    table = next(t for t in page.tables['predictions'] if t[0][0] == 'joint')
    assert [row[1] for row in table[1:]] == pytest.approx([100 * each for each in errors])
    files = {each['kind']: each['sha256'] for each in told['provenance']['files']}
    assert len(files['model']) == len(files['recording of the model']) == 64


def test_a_page_names_what_is_missing_and_the_command_that_makes_it(made, prints, tmp_path):
    folder, *_ = made
    for number, (run, expected) in enumerate(
        (
            (folder / 'known.npz', 'pkm identify'),
            (folder / 'model.yaml', '--validate ANOTHER_RECORDING'),
        )
    ):
        output = tmp_path / f'{number}.html'
        prints('report', run, '--robot', 'five_bar', '--output', output)
        text = output.read_text()
        commands = re.findall(r'<pre>(.*?)</pre>', text)
        assert any(expected in each for each in commands), commands
    assert 'no model yet' in (tmp_path / '0.html').read_text()


def test_a_design_and_a_printed_validation_have_pages(made, prints, tmp_path):
    folder, *_ = made
    output = tmp_path / 'design.html'
    told = json.loads(prints('report', excitation_path('five_bar'), '--output', output, '--json'))
    shown = json.loads(prints('excite', 'show', 'shipped', '--robot', 'five_bar', '--json'))
    assert same(told['excitation'], shown)
    words = ('validate', folder / 'other.npz', '--robot', 'five_bar', '--model')
    (tmp_path / 'v.json').write_text(prints(*words, folder / 'model.yaml', '--json'))
    prints('report', tmp_path / 'v.json', '--output', tmp_path / 'validation.html')
    text = prints(*words, folder / 'model.yaml')
    page = Reader((tmp_path / 'validation.html').read_text())
    table = page.tables['predictions'][0]
    assert text.splitlines()[4].split()[:3] == [cell_text(each) for each in table[1][:3]]


def test_two_runs_are_compared(made, prints, tmp_path):
    folder, *_ = made
    second = tmp_path / 'second.yaml'
    words = ('--robot', 'five_bar', '--estimator', 'ls', '--output', second)
    prints('identify', folder / 'known.npz', *words)
    output = tmp_path / 'both.html'
    told = json.loads(prints('report', folder / 'model.yaml', second, '--output', output, '--json'))
    files = [yaml.safe_load(path.read_text()) for path in (folder / 'model.yaml', second)]
    for row in told['comparison']:
        both = [
            next(each for each in file['parameters'] if each['name'] == row['name'])
            for file in files
        ]
        assert [row['value_1'], row['value_2']] == [each['value'] for each in both]
        spread = np.hypot(*(each['standard_deviation'] for each in both))
        apart = (both[1]['value'] - both[0]['value']) / spread
        assert row['deviations'] == pytest.approx(apart, rel=1e-9)
    page = Reader(output.read_text())
    assert page.sections[:3] == ['verdict', 'verdict', 'comparison']
    assert {'run1-parameters', 'run2-parameters'} <= set(page.sections)


def test_what_is_no_run_is_refused(made, fails, tmp_path):
    folder, *_ = made
    output = tmp_path / 'page.html'
    (tmp_path / 'empty').mkdir()
    assert 'holds no recording' in fails('report', tmp_path / 'empty', '--output', output)
    other = tmp_path / 'other.yaml'
    other.write_text('some: thing\n')
    assert 'neither a model nor a design' in fails('report', other, '--output', output)
    other.write_text('format: pkm identified model\nversion: 1\n')
    assert "'other.yaml'" in fails('report', other, '--output', output).replace(f'{tmp_path}/', '')
    moved = (folder / 'model.yaml').read_text()
    moved = moved.replace("description_path: ''", 'description_path: /nowhere/five_bar.urdf')
    other.write_text(moved)
    assert '--robot' in fails('report', other, '--output', output)
    assert 'nowhere.npz' in fails('report', tmp_path / 'nowhere.npz', '--output', output)
    (tmp_path / 'x.json').write_text('{}')
    assert 'pkm validate --json' in fails('report', tmp_path / 'x.json', '--output', output)
    output.write_text('mine')
    assert 'exists' in fails('report', folder, '--output', output)
    assert output.read_text() == 'mine'


def test_a_broken_file_of_a_folder_is_told_in_the_page(made, prints, tmp_path):
    folder, *_ = made
    run = tmp_path / 'run'
    run.mkdir()
    shutil.copy(folder / 'known.npz', run)
    (run / 'broken.npz').write_bytes(b'no archive')
    told = prints('report', run, '--robot', 'five_bar', '--output', tmp_path / 'page.html')
    assert told == ''
    assert 'broken.npz: ' in (tmp_path / 'page.html').read_text()
    assert files_of(str(run)).is_folder


def a_run(name, gain, feedforward, size):
    time = 0.001 * np.arange(4000)
    error = size * np.sin(7.0 * time)[:, None] * [1.0, 0.5]
    feedback = gain * error + 3.0 * np.gradient(error, time, axis=0)
    gains = observed_gains(time, error, feedback)
    assert gains == pytest.approx([gain, gain], rel=0.01)
    return TrackedRun(name, ('a', 'b'), time, error, feedforward, gains)


def write_states(path, model, wanted, gain, feedforward):
    """Write a bag with the state of a controller that runs from the tenth sample on."""
    folder = Path(__file__).parents[2] / 'pkm_msgs' / 'msg'
    texts = {f'pkm_msgs/msg/{each.stem}': each.read_text() for each in folder.glob('*.msg')}
    store = jazzy_typestore()
    complete_typestore(STATES, texts, store)
    header, time_of = (
        store.types[name] for name in ('std_msgs/msg/Header', 'builtin_interfaces/msg/Time')
    )
    names = list(reversed(model.actuated_joints))
    measured = wanted - 1e-3 * np.sin(np.arange(len(wanted)) / 50.0)[:, None] * [1.0, 2.0]
    with BagWriter(path, definitions=texts) as bag:
        for k, row in enumerate(wanted):
            force = gain * (row - measured[k])
            state = store.types[STATES](
                header(time_of(0, k * 1_000_000), ''),
                *(names, 4 if k >= 10 else 3, (k - 10) / 1000, 0, row, np.zeros(2), measured[k]),
                *(np.full(2, feedforward), force, force, np.zeros(2, bool), 'none', 0.0, 1.0),
            )
            data = bytes(store.serialize_cdr(state, STATES))
            bag.write('/robot/trajectory_controller/state', STATES, data, k * 1_000_000)
    return path


def test_tracking_is_read_from_the_state_of_the_controller(tmp_path):
    model = ClosedChainModel(pkm_description.load('five_bar'))
    wanted = 0.1 * np.arange(4000)[:, None] * [1e-3, 2e-3]
    bag = write_states(tmp_path / 'bag', model, wanted, 200.0, 0.5)
    found = tracked_run(bag, model.actuated_joints, 'bag')
    error = 1e-3 * np.sin(np.arange(10, 4000) / 50.0)
    assert found.time[0] == 0.0 and found.has_feedforward
    np.testing.assert_allclose(found.errors, error[:, None] * [2.0, 1.0], atol=1e-12)  # by name
    assert found.gains == pytest.approx([200.0, 200.0], rel=0.01)
    with pytest.raises(DatasetError, match="no joint 'elbow'"):
        tracked_run(bag, ['elbow'])


def test_tracking_is_compared_at_the_same_gains():
    runs = [a_run('soft', 1e3, False, 1e-3), a_run('stiff', 3e3, False, 3e-4)]
    runs += [a_run('stiff, model', 3e3, True, 1e-4), a_run('soft, model', 1e3, True, 2e-4)]
    rows = tracking_rows(runs)
    assert [row['factor'] for row in rows] == pytest.approx([1.0, 1.0, 3.0, 5.0])
    factor, after, before = best_factor(runs)
    assert (round(factor, 6), after.name, before.name) == (5.0, 'soft, model', 'soft')
    table = tracking_table(runs, 'm')
    assert table.rows[2][2:5] == pytest.approx([3.0, 1e3 * rows[2]['overall'], 3.0])
    assert rows[0]['rms']['b'] == pytest.approx(0.5 * rows[0]['rms']['a'])


def test_thinned_lines_keep_their_peaks():
    values = np.random.default_rng(1).standard_normal(50_000)
    values[31_234], values[7] = 9.0, -9.0
    kept, place = thinned(values, np.arange(50_000), by=values)
    assert len(kept) <= MOST and {9.0, -9.0} <= set(kept) and np.all(np.diff(place) > 0)


def test_a_browser_draws_the_page_at_both_widths_and_prints_it(made, tmp_path):
    _, report, page = made
    check_in_a_browser(page, report, tmp_path)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('<img src="https://x/y.png">', 1),
        ('<img srcset="a.png 1x, https://x/y.png 2x">', 1),
        ('<link rel="stylesheet" href="//x/y.css">', 1),
        ('<style>@import "https://x/y.css";</style><p>//x</p>', 1),
        ('<p style="background: url(\'http://x\')">', 1),
        ('<script>fetch("https://x/y.json")</script>', 1),
        ('<a href="https://doi.org/1">paper</a><svg xmlns="http://www.w3.org/2000/svg"></svg>', 0),
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_found(text, expected):
    assert len(Reader(text).elsewhere) == expected
