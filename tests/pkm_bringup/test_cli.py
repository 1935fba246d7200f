"""The command `pkm`: every verb by its arguments, its output, its exit status and its files."""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from every_model import model_of
from excitations import excitation
from taught_motion import taught
from verb_parsers import parsers

import pkm_description
import pkm_identification
from pkm_bringup import cli
from pkm_bringup.exports.model_export import CPP_FORMS
from pkm_bringup.offline import feedforward_of
from pkm_bringup.verbs import export
from pkm_control.learning.learned_force import model_digest
from pkm_control.learning.learning_file import save_learning
from pkm_description.exporters import FORMATS
from pkm_dynamics.presets import preset
from pkm_identification.datasets import BagWriter
from pkm_identification.datasets.bags.message_types import jazzy_typestore
from pkm_identification.excitation.search.criteria import CRITERIA

UNIT = re.compile(r'\[(1|[a-zA-Z/ ]+(\^2)?(, [a-zA-Z/ ]+(\^2)?)*)\]')


@pytest.fixture(scope='module')
def data(folder, trajectory):
    """Two periods of the simulated robot without the effects that the model lacks."""
    path = folder / 'data.npz'
    arguments = ['simulate', 'palida', '--trajectory', trajectory, '--periods', '2']
    arguments += ['--ramp-time', '0.5', '--effects', 'modelled', '--feedforward', 'nominal']
    assert cli.main([*arguments, '--output', str(path)]) == 0
    return str(path)


@pytest.fixture(scope='module')
def model_file(folder, data):
    path = folder / 'model.yaml'
    assert cli.main(['identify', data, '--robot', 'palida', '--output', str(path)]) == 0
    return str(path)


@pytest.fixture(scope='module')
def other_robot(folder):
    """A robot that differs from PaLiDA by its name alone."""
    description = pkm_description.load('palida')
    path = folder / 'other.urdf'
    path.write_text(description.urdf.replace('name="palida"', 'name="other"', 1))
    path.with_suffix('.yaml').write_text(description.yaml_text)
    return str(path)


# -- usage --------------------------------------------------------------------


def test_all_verbs_are_there():
    assert set(parsers()) >= {
        *(
            f'pkm {name}'
            for name in (
                'robots',
                'describe',
                'export',
                'excite',
                'simulate',
                'identify',
                'validate',
                'compare',
                'demo',
                'bench',
            )
        ),
        *(f'pkm excite {name}' for name in ('preset', 'design', 'show', 'check', 'run')),
    }


@pytest.mark.parametrize('program', list(parsers()))
def test_every_option_has_help(program):
    for action in parsers()[program]._actions:
        assert action.help or isinstance(action, argparse._SubParsersAction), action.dest


@pytest.mark.parametrize('program', sorted(set(parsers()) - {'pkm demo'}))
def test_numbers_have_units(program):
    for action in parsers()[program]._actions:
        if action.type is not None:
            assert UNIT.search(action.help), f'{program} {action.dest}: {action.help}'


@pytest.mark.parametrize('program', list(parsers()))
def test_help_ends_well(program, prints):
    assert prints(*program.split()[1:], '--help').startswith(f'usage: {program}')


@pytest.mark.parametrize('words', [(), ('identify',), ('validate',), ('excite', 'design')])
def test_help_imports_nothing_slow(words):
    code = (
        'import sys; from pkm_bringup import cli; '
        f'cli.main([*{words}, "--help"]); '
        'assert not {"numpy", "scipy", "mujoco", "rclpy", "rich"} & set(sys.modules)'
    )
    begin = time.perf_counter()
    subprocess.run([sys.executable, '-c', code], check=True, capture_output=True)
    assert time.perf_counter() - begin < 10  # seconds, on a busy machine


def test_wrong_usage_is_one_line_with_status_2(fails):
    assert "'nonsense'" in fails('nonsense', status=2)
    assert 'VERB' in fails(status=2)
    line = fails('export', 'palida', '--to', 'dxf', '--output', 'x', status=2)
    assert "'dxf'" in line and 'mjcf' in line and 'sdf' in line and 'urdf' in line
    assert '--periods' in fails(
        'simulate',
        'palida',
        '--trajectory',
        'circle',
        '--output',
        'x.npz',
        '--periods',
        '0',
        status=2,
    )


def test_choices_are_those_of_the_libraries():
    assert set(export.FORMATS) == {*FORMATS, 'cpp', 'payload'}
    forms = {form for forms in FORMATS.values() for form in forms}
    assert set(export.FORMS) == {*forms, *CPP_FORMS}
    from pkm_bringup.verbs.excite_verbs import excite_design

    assert set(excite_design.CRITERIA) == set(CRITERIA)


def test_console_command():
    done = subprocess.run(
        [sys.executable, '-m', 'pkm_bringup.cli', 'robots', '--json'],
        check=True,
        capture_output=True,
        text=True,
    )
    assert [robot['name'] for robot in json.loads(done.stdout)] == [
        *pkm_description.library(),
        *pkm_description.examples(),
    ]


def test_defect_is_named_without_traceback(monkeypatch, capsys):
    def explode():
        raise RuntimeError('boom')

    monkeypatch.setattr('pkm_bringup.verbs.robots.robot_list', explode)
    assert cli.main(['robots']) == 1
    assert capsys.readouterr().err.count('\n') == 1
    monkeypatch.setenv('PKM_TRACEBACK', '1')
    with pytest.raises(RuntimeError):
        cli.main(['robots'])


# -- describe, export ----------------------------------------------------------


def test_describe(prints):
    text = prints('describe', 'palida')
    assert re.search(r'mobility +6: 6 drives', text)
    assert '6 closing constraints, 18 rows, none redundant' in text
    assert 'leg1_slider (1 of 6 equal)' in text and 'leg6_slider (' not in text
    assert max(map(len, text.splitlines())) < 150
    content = json.loads(prints('describe', 'palida', '--base', '--json'))
    model = model_of('palida')
    assert content['base_parameters']['rank'] == model.base_parameters(True, True).rank
    assert {joint['name'] for joint in content['joints'] if joint['actuated']} == set(
        model.actuated_joints
    )
    masses = sum(link['mass'] for link in content['links'])
    assert masses == pytest.approx(content['total_mass'])
    parameters = {row['name']: row for row in content['base_parameters']['parameters']}
    assert parameters['platform.m']['unit'] == 'kg'
    assert 'leg_slider.m' in parameters['platform.m']['expression']
    ranks = {(rank['shared'], rank['reduced']): rank['rank'] for rank in content['ranks']}
    assert ranks[False, False] == model.base_parameters().rank > ranks[True, True]
    assert content['home']['closure_gap'] < 1e-9 and not content['warnings']
    assert content['sources']['leg*_alpha.coulomb, leg*_beta.coulomb'].startswith('paper')


def test_describe_base_parameters(prints, fails):
    text = prints('describe', 'rps_upv', '--base', '--reduced', 'model_4', '--sources')
    assert 'platform.m + 3*leg_slider.m' in text
    assert 'leg_slider.m in platform.mx: sum of x over leg1_top .. leg3_top' in text
    assert 'left out: leg_stator.mz' in text and 'singular values fall from' in text
    content = json.loads(prints('describe', 'rps_upv', '--base', '--json'))['base_parameters']
    assert content['members']['leg_slider.m'] == [f'leg{k}_slider.m' for k in (1, 2, 3)]
    assert content['level'] == 'geometry' and 'leg_stator.m' in content['without_influence']
    kept, dropped = content['singular_values_at_gap']
    assert kept > 1e6 * dropped
    assert 'it has full, geometry, model_1' in fails('describe', 'rps_upv', '--reduced', 'model_9')


def test_describe_shows_drives_in_full(prints):
    text = prints('describe', 'rps_upv')
    (row,) = (line.split() for line in text.splitlines() if line.startswith('leg2_strut '))
    assert row[-4:] == ['228.04/227.96', '3272', '483.1', '200']
    (head,) = (line.split() for line in text.splitlines() if line.startswith('joint '))
    assert head[-4:] == ['Coulomb', 'viscous', 'rotor', 'N/A']


def test_describe_shows_motors(prints, tmp_path):
    import every_model

    arm = every_model.geared_arm()
    (tmp_path / 'arm.urdf').write_text(arm.urdf)
    (tmp_path / 'arm.yaml').write_text(arm.yaml_text)
    table = prints('describe', str(tmp_path / 'arm.urdf')).partition('MOTORS')[2]
    (two,) = (line.split() for line in table.splitlines() if line.startswith('two '))
    turns = ['+15', 'joint2', '-18', 'joint3']
    assert two == ['two', 'wrist', *turns, '0.0009', '0.01/0.03', '0.002', '-']


def test_describe_counts_every_joint(prints):
    text = prints('describe', 'cart_pendulum')
    assert '3 joints (1 with a drive, 2 free, 0 passive)' in text


def test_describe_a_planar_loop(prints, tmp_path):
    import mechanisms

    bar = mechanisms.four_bar()
    (tmp_path / 'bar.urdf').write_text(bar.urdf)
    text = prints('describe', str(tmp_path / 'bar.urdf'))
    assert '1 closing constraint, 5 rows, 3 of them redundant' in text
    warnings = text.partition('WARNINGS')[2]
    assert 'no home is given' in warnings and 'last (3 of 5)' in warnings
    content = json.loads(prints('describe', str(tmp_path / 'bar.urdf'), '--json'))
    (loop,) = content['constraints']
    assert (loop['type'], loop['rows'], loop['redundant']) == ('revolute', 5, 3)
    roles = {joint['name']: joint['role'] for joint in content['joints']}
    assert roles == {'crank_joint': 'drive', 'coupler_joint': 'passive', 'rocker_joint': 'passive'}


def test_describe_workspace(prints, fails, tmp_path):
    picture = tmp_path / 'palida.png'
    few = ('--workspace', '--samples', '200')
    text = prints('describe', 'palida', *few, '--plot', str(picture))
    reached = text.partition('WORKSPACE')[2]
    assert '% of 200 random samples' in reached and 'm^3' in reached
    assert re.search(r'stroke +\d+ +an actuator beyond its limits', reached)
    assert re.search(r'parallel +0\.\d+ +the platform moves while the actuators', reached)
    assert picture.read_bytes().startswith(b'\x89PNG')
    content = json.loads(prints('describe', 'palida', *few, '--json'))['reach']
    share = 1.0 - content['failed']['stroke'] / 200
    assert content['share'] == pytest.approx(share, abs=0.01)
    assert np.all(np.array(content['box_lower']) < content['box_upper'])
    drawn = tmp_path / 'bar.svg'
    bar = json.loads(prints('describe', 'five_bar', *few, '--json', '--plot', str(drawn)))['reach']
    assert bar['coordinates'] == 'actuators' and bar['volume'] is None
    assert '<svg' in drawn.read_text()
    assert 'exists already' in fails('describe', 'palida', '--plot', str(picture))
    assert '.png or .svg' in fails('describe', 'palida', '--plot', str(tmp_path / 'a.pdf'))
    assert '>= 1' in fails('describe', 'palida', '--workspace', '--samples', '0', status=2)
    assert '--samples needs --workspace' in fails('describe', 'palida', '--samples', '10')


def test_contributions(prints, fails, trajectory):
    text = prints('describe', 'palida', '--contributions')
    assert "motion 'circle'" in text
    assert 'platform_inertia' in text and 'leg1_stator' in text
    content = json.loads(
        prints('describe', 'palida', '--contributions', '--motion', trajectory, '--json')
    )['contributions']
    model = model_of('palida')
    motion = excitation().motion(np.linspace(0.0, 1.0, 1000), model)
    total = np.linalg.norm(model.inverse_dynamics(motion), axis=1).mean()
    friction = np.where(model.parameter_mask('friction'), model.nominal_parameters, 0.0)
    own = np.linalg.norm(model.inverse_dynamics(motion, friction), axis=1).mean()
    share = {group['name']: group['percent'] for group in content['groups']}
    assert share['friction'] == pytest.approx(100.0 * own / total)
    assert len(content['percent_per_millimetre']['platform']) == 3
    sines = json.loads(prints('describe', 'palida', '--motion', 'sines', '--json'))
    assert sines['contributions']['duration'] == 2.0
    assert "'nowhere'" in fails('describe', 'palida', '--contributions', '--motion', 'nowhere')


def test_unknown_robot(fails):
    for arguments in (
        ['describe', 'nobody'],
        ['export', 'nobody', '--to', 'mjcf', '--output', 'x'],
        ['excite', 'check', 'circle', '--robot', 'nobody'],
    ):
        line = fails(*arguments)
        assert "'nobody'" in line and 'palida' in line
    assert 'absent.urdf' in fails('describe', 'absent.urdf')


def test_broken_description(folder, fails):
    text = pkm_description.load('palida').urdf
    path = folder / 'broken.urdf'
    path.write_text(text.replace('<child link="leg1_slider"/>', '<child link="leg1_ghost"/>', 1))
    assert 'leg1_ghost' in fails('describe', path)
    path.write_text(text[: len(text) // 2])
    assert 'broken.urdf' in fails('describe', path)


@pytest.mark.parametrize(
    ('format', 'form'), [(key, form) for key in sorted(FORMATS) for form in FORMATS[key]]
)
def test_export(format, form, folder, prints, fails):
    path = folder / f'{form}.{format}'
    arguments = ['export', 'palida', '--to', format, '--form', form, '--output', path]
    prints(*arguments)
    description = pkm_description.load('palida')
    assert path.read_text() == pkm_description.export(description, format, form)
    before = path.read_bytes()
    assert 'not overwritten' in fails(*arguments)
    assert path.read_bytes() == before


def test_exported_urdf_is_the_same_robot(folder, prints, fails):
    path = folder / 'again.urdf'
    prints('export', 'palida', '--to', 'urdf', '--output', path)
    again = pkm_description.load(path)
    assert again.digest == pkm_description.load('palida').digest
    path.unlink()
    # The YAML of an earlier export is not overwritten, and no URDF is left beside it.
    assert 'again.yaml' in fails('export', 'palida', '--to', 'urdf', '--output', path)
    assert not path.exists() and path.with_suffix('.yaml').exists()


def test_export_names_what_is_lost(folder, capsys):
    path = folder / 'open.urdf'
    arguments = ['export', 'palida', '--to', 'urdf', '--form', 'tree', '--output', str(path)]
    assert cli.main([*arguments, '--strict']) == 1
    assert "constraint 'leg1_top'" in capsys.readouterr().err and not path.exists()
    assert cli.main(arguments) == 0
    assert capsys.readouterr().err.count('lost: constraint') == 6
    assert cli.main(['export', 'palida', '--to', 'mjcf', '--form', 'graph', '--output', 'x']) == 1
    assert "no form 'graph'" in capsys.readouterr().err
    assert cli.main(['export', 'palida', '--to', 'urdf', '--output', str(folder / 'x.txt')]) == 1
    assert '.urdf' in capsys.readouterr().err


@pytest.mark.parametrize(('format', 'exact'), [('urdf', 1e-10), ('mjcf', 1e-9), ('sdf', 1e-9)])
def test_export_of_an_identified_model(format, exact, folder, model_file, capsys):
    path = folder / f'identified.{format}'
    arguments = ['export', 'palida', '--model', model_file, '--to', format, '--output', path]
    assert cli.main([str(each) for each in arguments]) == 0
    said = re.search(r'read by (.*), differ .* at most (\S+) of', capsys.readouterr().err)
    assert float(said[2]) < exact
    result = pkm_identification.load_result(model_file)
    text = path.read_text()
    for name, deviation in zip(result.names, result.standard_deviation, strict=True):
        assert re.search(rf'<!-- {re.escape(name)} \S+ \+- {deviation:.2g} ', text), name
    if format == 'urdf':
        again = pkm_description.load(path)
        assert again.digest != result.digest and again.same_design


def test_goal_of_a_joint_trajectory_controller(folder, trajectory, model_file, prints, fails):
    words = ['goal', trajectory, '--robot', 'palida', '--periods', '1', '--ramp-time', '0.5']
    path = folder / 'goal.yaml'
    given = ['--rate', '50', '--model', model_file, '--output', path]
    found = json.loads(prints(*words, *given, '--json'))
    goal = yaml.safe_load(path.read_text())['trajectory']
    assert len(goal['points']) == found['points'] == round(50 * found['duration']) + 1
    assert goal['joint_names'] == pkm_description.load('palida').actuated_joints
    assert all(len(point['effort']) == 6 for point in goal['points'])
    assert 'not overwritten' in fails(*words, *given)
    assert 'rate' in fails(*words, '--rate', '2000', '--output', folder / 'other.yaml')
    assert not (folder / 'other.yaml').exists()


def test_export_of_cpp(folder, model_file, capsys, fails):
    path = folder / 'cpp'
    words = ['export', 'palida', '--to', 'cpp', '--output', str(path)]
    model = model_of('palida')
    digest = model_digest(model, feedforward_of(model, model_file))
    save_learning(learned := folder / 'learned.json', taught(model, digest))
    assert 'another model' in fails(*words, '--learned', learned)
    words = [*words, '--learned', str(learned)]
    assert cli.main([*words, '--model', model_file]) == 0
    said = capsys.readouterr().err
    result = pkm_identification.load_result(model_file)
    source = (path / 'palida_model.cpp').read_text()
    assert source.startswith('// identified') and f'{result.names[0]} ' in source
    assert sorted(each.name for each in path.iterdir()) == [
        'CMakeLists.txt',
        'palida_benchmark.cpp',
        'palida_controller.hpp',
        'palida_force_table.hpp',
        'palida_learned.hpp',
        'palida_model.cpp',
        'palida_model.hpp',
        'palida_parity.cpp',
    ]
    assert ('no real bodies' in said) == (not result.is_physical)
    assert 'not overwritten' in fails(*words)
    other = ('export', 'five_bar', '--to', 'cpp', '--output', folder / 'o', '--learned', learned)
    assert "robot's are" in fails(*other) and 'plain form' in fails(*other, '--form', CPP_FORMS[0])
    assert 'only cpp' in fails('export', 'palida', '--to', 'sdf', *other[4:])
    for form in CPP_FORMS:
        words = ['export', 'five_bar', '--to', 'cpp', '--form', form]
        assert cli.main([*words, '--output', str(folder / form)]) == 0
        assert 'five_bar_plugin.cpp' in (folder / form / 'CMakeLists.txt').read_text()
    words = ('export', 'five_bar', '--to', 'cpp', '--form', 'tree', '--output', folder / 'five')
    assert 'tree' in fails(*words)
    words = ('export', 'cart_pendulum', '--to', 'cpp', '--output', folder / 'cart')
    assert 'lower_joint' in fails(*words)
    assert not (folder / 'cart').exists()


def test_exports_that_need_a_model(folder, model_file, fails):
    line = fails('export', 'palida', '--to', 'payload', '--output', folder / 'p.yaml')
    assert '--model' in line
    words = ('export', 'palida', '--model', model_file, '--to', 'payload')
    assert 'has no payload' in fails(*words, '--output', folder / 'p.yaml')
    words = ('export', 'five_bar', '--model', model_file, '--to', 'urdf')
    assert "'palida'" in fails(*words, '--output', folder / 'p.urdf')


def test_output_folder_that_is_a_file(trajectory, fails):
    line = fails('export', 'palida', '--to', 'urdf', '--output', f'{trajectory}/robot.urdf')
    assert 'trajectory.yaml' in line


# -- simulate, identify, validate ------------------------------------------------


def test_simulated_data_follow_the_trajectory(data):
    dataset = pkm_identification.load(data)
    model = model_of('palida')
    assert list(dataset.joint_names) == model.actuated_joints
    assert dataset.period == 1.0 and len(dataset) in (2000, 2001)
    motion = excitation().motion(np.arange(len(dataset)) * 1e-3, model)
    wanted = model.inverse_kinematics(motion.position, motion.rotation)
    assert np.abs(dataset.positions - wanted).max() < 1e-3
    # measured forces are those that the robot's own parameters need, but for the noise
    forces = dataset.for_model(model).efforts - model.inverse_dynamics(motion)
    assert np.abs(forces.mean(axis=0)).max() < 5
    assert np.all(forces.std(axis=0) < 60)


def test_simulate_repeats_with_its_seed(folder, trajectory, prints):
    arrays = []
    for name, seed in (('a', 3), ('b', 3), ('c', 4)):
        path = folder / f'{name}.npz'
        prints(
            'simulate',
            'palida',
            '--trajectory',
            trajectory,
            '--periods',
            '1',
            '--ramp-time',
            '0.3',
            '--seed',
            seed,
            '--output',
            path,
        )
        arrays.append(np.load(path)['currents'])
    np.testing.assert_array_equal(arrays[0], arrays[1])
    assert np.abs(arrays[0] - arrays[2]).max() > 0.1


def test_simulate_a_motion_that_ends_at_rest(folder, prints, fails):
    path, file = folder / 'fall.npz', folder / 'fall.yaml'
    model = model_of('four_bar')
    motion = preset(model, 'free_fall')
    motion.save(file)
    command = ['simulate', 'four_bar', '--trajectory', file, '--output', path]
    assert '--periods must be 1' in fails(*command, '--periods', '2')
    content = json.loads(prints(*command, '--json', '--feedforward', 'nominal'))
    assert content['period'] is None and content['periods'] == 1
    dataset = pkm_identification.load(path)
    assert dataset.period is None
    assert dataset.duration == pytest.approx(motion.duration, abs=3e-3)
    assert np.abs(dataset.positions[-1] - motion.evaluate([motion.duration])[0]).max() < 0.02


def test_simulate_refuses(folder, trajectory, data, fails):
    wide = folder / 'wider.yaml'
    excitation(0.08).save(wide)
    path = folder / 'never.npz'
    command = ['simulate', 'palida', '--output', path, '--trajectory']
    assert re.search(r'leg\d_strut at t = ', fails(*command, wide))
    assert "'nowhere.yaml'" in fails(*command, 'nowhere.yaml')
    assert "'absent.yaml'" in fails(*command, trajectory, '--feedforward', 'absent.yaml')
    broken = folder / 'broken.yaml'
    broken.write_text('type: fourier\nperiod: -1\n')
    assert 'broken.yaml' in fails(*command, broken)
    assert not path.exists()
    before = Path(data).read_bytes()
    assert 'not overwritten' in fails(*command[:2], '--output', data, *command[4:], trajectory)
    assert Path(data).read_bytes() == before
    assert '.npz' in fails(*command[:2], '--output', folder / 'x.txt', *command[4:], trajectory)


def test_trajectory_of_another_robot(folder, other_robot, trajectory, fails):
    line = fails('excite', 'show', trajectory, '--robot', other_robot)
    assert "'palida'" in line and "'other'" in line


def test_identify(folder, data, prints, model_file):
    path = folder / 'json.yaml'
    content = json.loads(prints('identify', data, '--robot', 'palida', '--output', path, '--json'))
    result = pkm_identification.load_result(path)
    assert [row['name'] for row in content['parameters']] == result.names
    model = model_of('palida')
    truth = result.matrix @ model.nominal_parameters
    values = np.array([row['value'] for row in content['parameters']])
    deviations = np.array([row['standard_deviation'] for row in content['parameters']])
    assert np.mean(np.abs(values - truth) < 3 * deviations) > 0.9
    assert content['is_physical'] == result.is_physical
    verdicts = [row['verdict'] for row in content['identifiability']]
    assert content['properly_identified'] == verdicts.count('proper') > 0
    text = prints(
        'identify',
        data,
        '--robot',
        'palida',
        '--estimator',
        'ls',
        '--option',
        'harmonics=3',
        '--option',
        'shared=true',
        '--output',
        folder / 'text.yaml',
    )
    assert re.search(r'platform\.m +[\d.]+ +[\d.e-]+( +[\d.]+){3} +kg', text)
    assert 'physical' in text and '95 % from' in text
    assert re.search(r'\d+ samples, mean of \d+ periods of 1 s \(recorded\); \d+ harmon', text)
    assert re.search(r'\d+ of 24 parameters properly identified \(known to 15 %', text)
    command = ['identify', data, '--robot', 'palida', '--estimator', 'ellipsoid']
    text = prints(*command, '--output', folder / 'set.yaml')
    assert 'guaranteed from' in text and '95 %' not in text


def test_identify_with_forces_of_drives(folder, data, prints, fails):
    """The model file needs nothing else than the robot that it was made with."""
    path = folder / 'terms.yaml'
    command = ['identify', data, '--robot', 'palida']
    terms = ['--terms', 'leg3_strut:ripple(0.06)', '--terms', 'leg[12]_strut:offset']
    prints(*command, *terms, '--output', path)
    result = pkm_identification.load_result(path, model_of('palida'))
    added = {'leg3_strut.ripple_cos1', 'leg3_strut.ripple_sin1', 'leg1_strut.offset'}
    assert added < set(result.names)
    judged = json.loads(prints('validate', data, '--robot', 'palida', '--model', path, '--json'))
    assert 'leg3_strut.ripple_cos1' in json.dumps(judged)
    other = folder / 'none.yaml'
    line = fails(*command, '--terms', 'leg9_strut:offset', '--output', other)
    assert "'leg9_strut'" in line and 'leg1_strut' in line
    line = fails(*command, '--terms', 'leg1_strut:cogging', '--output', other)
    assert "'cogging'" in line and 'ripple(PERIOD[,HARMONICS])' in line


def test_identify_chooses_friction(folder, data, prints, fails):
    """The table stands beside the parameters, and the model file says how it was chosen."""
    path = folder / 'auto.yaml'
    command = ['identify', data, '--robot', 'palida', '--friction', 'auto']
    text = prints(*command, '--output', path)
    assert re.search(r'term +drives +period \[m, rad\] +held-out error \[%\]', text)
    result = pkm_identification.load_result(path, model_of('palida'))
    assert result.provenance.options['friction'] == 'auto'
    rows = [line for line in text.splitlines() if re.match(r' *\d+ +\w+ +leg', line)]
    assert len(rows) == len(result.diagnostics.drive_terms.tried_terms) > 0
    prints('validate', data, '--robot', 'palida', '--model', path, '--json')
    other = ['--output', folder / 'none.yaml']
    line = fails(*command, '--option', 'friction=auto', *other)
    assert '--friction and --option friction=' in line
    assert 'described' in fails(*command[:4], '--option', 'friction=all', *other)


def test_identify_refuses(tmp_path, data, fails):
    path = tmp_path / 'model.yaml'
    command = ['identify', data, '--robot', 'palida', '--output', path]
    line = fails(*command, '--estimator', 'magic')
    assert "'magic'" in line and 'wls' in line
    line = fails(*command, '--option', 'colour=red')
    assert "'colour'" in line and 'harmonics' in line
    assert 'NAME=VALUE' in fails(*command, '--option', 'colour')
    for name in ('progress', 'estimator', 'dataset', 'threshold', 'keep'):
        assert f"unknown option '{name}'" in fails(*command, '--option', f'{name}=1')
    assert '--significance needs --reduce' in fails(*command, '--significance', '0.01')
    assert '--validate needs --reduce' in fails(*command, '--validate', data)
    line = fails(*command, '--reduce', '--option', 'progress=x')
    assert "unknown option 'progress'" in line and 'held_at' in line
    assert "'period' must be a positive number [s]" in fails(*command, '--option', 'period=[1, 2]')
    assert "'absent.npz'" in fails('identify', 'absent.npz', *command[2:])
    assert 'allow_incomplete' in fails(*command, '--allow-incomplete')
    assert not path.exists()


def test_identify_from_broken_data(tmp_path, data, fails, capsys):
    path, model = tmp_path / 'broken.npz', tmp_path / 'model.yaml'
    arrays = dict(np.load(data))
    arrays['positions'] = arrays['positions'].copy()
    arrays['positions'][17, 2] = np.nan
    np.savez(path, **arrays)
    assert cli.main(['identify', str(path), '--robot', 'palida', '--output', str(model)]) == 0
    note = 'data: samples that are no number of the position of leg3_strut: 1'
    assert note in capsys.readouterr().err
    model.unlink()
    arrays['positions'][17:, 2] = np.nan
    np.savez(path, **arrays)
    line = fails('identify', path, '--robot', 'palida', '--output', model)
    assert 'broken.npz' in line and "'leg3_strut'" in line and 'sample 17' in line
    path.write_bytes(Path(data).read_bytes()[:1000])
    assert 'broken.npz' in fails('identify', path, '--robot', 'palida', '--output', model)
    arrays = dict(np.load(data))
    arrays['joint_names'] = np.array([f'arm{i}' for i in range(6)])
    np.savez(path, **arrays)
    assert "'leg1_strut'" in fails('identify', path, '--robot', 'palida', '--output', model)
    assert not model.exists()


def write_bag(path, data):
    """Write positions and forces of a data file as joint states."""
    arrays = np.load(data)
    store = jazzy_typestore()
    types = store.types
    kind = 'sensor_msgs/msg/JointState'
    efforts = arrays['currents'] * arrays['force_constants']
    names = list(map(str, arrays['joint_names']))
    with BagWriter(path, definitions={}) as writer:
        writer.add_topic('/joint_states', kind)
        rows = zip(arrays['time'], arrays['positions'], efforts, strict=True)
        for seconds, position, effort in rows:
            stamp = round(seconds * 1e9)
            header = types['std_msgs/msg/Header'](
                types['builtin_interfaces/msg/Time'](stamp // 10**9, stamp % 10**9), ''
            )
            message = types[kind](header, names, position, np.zeros(0), effort)
            writer.write('/joint_states', kind, bytes(store.serialize_cdr(message, kind)), stamp)
    return path


def test_bag_cut_in_half(tmp_path, data, fails):
    bag = write_bag(tmp_path / 'recording', data)
    assert len(pkm_identification.load(bag)) == len(np.load(data)['time'])
    file = bag / 'recording.mcap'
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    model = tmp_path / 'model.yaml'
    line = fails('identify', bag, '--robot', 'palida', '--output', model)
    assert 'recording' in line and 'cut off' in line
    assert not model.exists()


def test_validate(data, model_file, prints):
    content = json.loads(
        prints('validate', data, '--robot', 'palida', '--model', model_file, '--json')
    )
    figures = content['against_measured']
    assert len(figures['relative_absolute_error']) == 6
    assert 0 < figures['relative_absolute_error_overall'] < 1
    assert 0 < figures['relative_rms_overall'] < 1
    assert content['coverage']['level'] == 0.95 and content['coverage']['truth_overall'] > 0.5
    assert len(content['noise_test']['p_value']) == len(content['noise_covariance']) == 6
    assert content['parameter_error']['median'] < 1.0
    text = prints(
        'validate',
        data,
        '--robot',
        'palida',
        '--model',
        model_file,
        '--rollout',
        '0.02',
        '--level',
        '0.5',
    )
    assert 'leg6_strut' in text and 'unbiased' in text and '50 % nominal' in text
    assert re.search(r'open-loop rollout .*\n.*\n.*\n +0\.02 +8 of 8 ', text)
    assert 'eps_AV' in text
    rms = f'{100 * figures["relative_rms_overall"]:.3g} %'
    assert f'RMS error over the RMS force, the measure of pkm identify: {rms}' in text


def test_validate_refuses_options(data, model_file, fails):
    command = ['validate', data, '--robot', 'palida', '--model', model_file]
    assert 'times [s] with commas' in fails(*command, '--rollout', 'long')
    assert 'positive times' in fails(*command, '--rollout', '0.1,-1')
    assert '--level' in fails(*command, '--level', '95', status=2)


def test_reduce(folder, data, prints, fails):
    command = ['identify', data, '--robot', 'palida', '--estimator', 'gauss_markov', '--reduce']
    path = folder / 'reduced.yaml'
    text = prints(*command, '--validate', data, '--output', path)
    assert 'held-out eps_RA [%]' in text and 'uncertain' in text
    result = pkm_identification.load_result(path)
    assert result.diagnostics['dropped'] and result.diagnostics['left_out']
    content = json.loads(
        prints(*command, '--threshold', '50', '--output', folder / 'half.yaml', '--json')
    )
    assert content['steps'][-1]['proper'] == content['steps'][-1]['parameters']
    assert len(content['dropped']) < len(result.diagnostics['dropped'])
    unwritten = folder / 'x.yaml'
    assert 'calibrate first' in fails(*command, '--drive-gains', 'each', '--output', unwritten)
    plain = ['identify', data, '--robot', 'palida', '--output', unwritten]
    line = fails(*plain, '--significance', '0.1', '--validate', 'absent.npz')
    assert '--significance and --validate need --reduce' in line
    assert 'must end in .yaml' in fails(*plain[:-1], folder / 'x.txt')
    assert '--level' in fails(*plain, '--level', '0', status=2)


def test_options_common_to_all_estimators(folder, data, model_file, prints, fails):
    path = folder / 'held.yaml'
    command = ['identify', data, '--robot', 'palida', '--output', path]
    prints(
        *command,
        '--option',
        'fixed={platform.mz: [0.1, 0.02]}',
        '--option',
        'estimate=["platform.*", "*.viscous"]',
        '--option',
        f'prior={model_file}',
    )
    result = pkm_identification.load_result(path)
    assert result.values[result.names.index('platform.mz')] == 0.1
    assert 'leg_slider.mz' in result.diagnostics['fixed']
    assert "option 'prior'" in fails(
        *command[:-1], folder / 'x.yaml', '--option', 'prior=none.yaml'
    )


def test_compare(folder, data, prints, fails):
    command = ['compare', data, '--robot', 'palida']
    picture = folder / 'compare.png'
    content = json.loads(
        prints(
            *command,
            '--estimators',
            'ls,wls,tls',
            '--validate',
            data,
            '--option',
            'method=filter',
            '--plot',
            picture,
            '--json',
        )
    )
    rows = {row['name']: row for row in content['rows']}
    assert list(rows) == ['ls', 'wls', 'tls']
    assert rows['wls']['held_out'] == pytest.approx(rows['wls']['error'])
    assert 'period' in rows['tls']['failure'] and 'parameters' not in rows['tls']
    assert picture.read_bytes().startswith(b'\x89PNG')
    text = prints(*command, '--estimators', 'ls,tls', '--option', 'method=filter')
    assert re.search(r'tls +failed', text) and '\ntls: ' in text
    text = prints(*command, '--models', 'geometry,geometry+shared')
    assert re.search(r'geometry\+shared +24 +10 ', text)
    for option in ('names=ls', 'progress=1', 'threshold=2'):
        line = fails(*command, '--estimators', 'ls', '--option', option)
        assert "unknown option '" in line and 'of estimator' in line
        assert 'unknown option' in fails(*command, '--models', '--option', option)
    assert "'best'" in fails(*command, '--estimators', 'best')
    assert "'model_9'" in fails(*command, '--models', 'model_9')
    assert '.png' in fails(*command, '--plot', folder / 'x.txt')
    assert '--models' in fails(*command, '--estimator', 'ls')
    assert 'no name' in fails(*command, '--estimators', ',')


def test_validate_refuses(folder, data, model_file, other_robot, fails):
    line = fails('validate', data, '--robot', other_robot, '--model', model_file)
    assert "'palida'" in line and "'other'" in line
    assert "'absent.yaml'" in fails('validate', data, '--robot', 'palida', '--model', 'absent.yaml')
    broken = folder / 'half_model.yaml'
    broken.write_text(Path(model_file).read_text()[:3000])
    assert 'half_model.yaml' in fails('validate', data, '--robot', 'palida', '--model', broken)


def test_simulate_with_an_identified_model_tracks_better(folder, trajectory, model_file, prints):
    rms = {}
    for feedforward in ('none', model_file):
        path = folder / f'tracking_{len(rms)}.npz'
        content = json.loads(
            prints(
                'simulate',
                'palida',
                '--trajectory',
                trajectory,
                '--periods',
                '1',
                '--ramp-time',
                '0.3',
                '--effects',
                'none',
                '--feedforward',
                feedforward,
                '--output',
                path,
                '--json',
            )
        )
        rms[feedforward] = np.mean(content['tracking_rms'])
    assert rms[model_file] < 0.5 * rms['none']


def test_nothing_temporary_is_left(folder, data, model_file):
    assert not [path for path in folder.iterdir() if path.name.startswith('.')]


@pytest.mark.skipif(not Path('/proc/version').exists(), reason='no folder that root cannot fill')
def test_folders_that_take_no_file_are_refused_at_once(trajectory, fails):
    line = fails('simulate', 'palida', '--trajectory', trajectory, '--output', '/proc/new/data.npz')
    assert line.endswith("'/proc' is not a writable folder")


@pytest.mark.parametrize('option', ['--seed', '--drive-seed', '--periods'])
def test_negative_numbers_are_refused(option, fails):
    command = ['simulate', 'palida', '--trajectory', 'x', '--output', 'x.npz', option, '-1']
    assert f'{option}: ' in fails(*command, status=2)


def test_unknown_options_name_their_verb(fails):
    line = fails('study', 'dirty', '--nonsense', status=2)
    assert line.startswith('pkm study dirty: error: ') and '--nonsense' in line
