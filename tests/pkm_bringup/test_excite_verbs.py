"""The subverbs of `pkm excite`: arguments, output, exit status, files."""

import json
import re

import numpy as np
import pytest
from every_model import model_of
from excitations import excitation

from pkm_bringup import cli
from pkm_dynamics.presets import preset
from pkm_identification.excitation import ExcitationDesign, motion_figures
from pkm_identification.excitation.search.criteria import CRITERIA


def test_excite_show(folder, trajectory, prints):
    plot = folder / 'picture.png'
    arguments = ['excite', 'show', trajectory, '--robot', 'palida', '--json', '--plot', plot]
    content = json.loads(prints(*arguments))
    assert content['feasible'] and content['duration'] == 1.0 and content['harmonics'] == 3
    assert content['figures']['condition_number'] > 1
    assert plot.read_bytes()[:4] == b'\x89PNG'
    # the regressor of all samples of a period, column by column
    model = model_of('palida')
    base = model.base_parameters(True, True)
    W = base.regressor(excitation().motion(np.arange(1000) / 1000, model)).reshape(-1, base.rank)
    s = np.linalg.svd(W, compute_uv=False)
    assert content['figures']['condition_number'] == pytest.approx(s[0] / s[-1], rel=1e-9)
    deviation = np.sqrt(np.diag(np.linalg.inv(W.T @ W)))
    shown = [content['figures']['standard_deviation'][name] for name in base.names]
    np.testing.assert_allclose(shown, deviation, rtol=1e-6)


def test_excite_show_of_a_motion_that_excites_too_little(prints):
    text = prints('excite', 'show', 'circle', '--robot', 'palida')
    assert re.search(r'^tracking +leg\d_strut', text, re.MULTILINE)
    assert 'excites only' in text and 'stroke' in text


def test_excite_show_of_a_motion_that_ends_at_rest(folder, prints):
    """Folded in blocks; the same as all rows at once, for two runs."""
    plot = folder / 'rest.png'
    arguments = ['excite', 'show', 'friction_sweep', '--robot', 'four_bar', '--periods', '2']
    content = json.loads(prints(*arguments, '--json', '--plot', plot))
    assert not content['periodic'] and content['ramp_time'] is None
    assert plot.read_bytes()[:4] == b'\x89PNG'
    model = model_of('four_bar')
    base, motion = model.base_parameters(True, True), preset(model, 'friction_sweep')
    samples = round(1000 * motion.duration)
    assert samples > 2 * motion_figures.BLOCK
    W = base.regressor(motion.motion(np.arange(samples) / 1000, model)).reshape(-1, base.rank)
    assert content['figures']['d_optimal'] == pytest.approx(-np.linalg.slogdet(2 * W.T @ W)[1])
    assert content['figures']['samples'] == 2 * samples


def test_excite_check(trajectory, prints):
    content = json.loads(prints('excite', 'check', trajectory, '--robot', 'palida', '--json'))
    assert content['feasible']
    assert min(row['margin'] for row in content['margins']) >= 0


def test_excite_check_names_joint_time_and_limit(folder, fails):
    path = folder / 'wide.yaml'
    excitation(0.08).save(path)
    line = fails('excite', 'check', path, '--robot', 'palida')
    assert re.search(r'stroke of leg\d_strut at t = [\d.]+ s: [\d.]+ m, limit [\d.]+ m', line)


def test_excite_check_lists_all_broken_limits(folder, capsys):
    path = folder / 'all_wide.yaml'
    excitation(0.08).save(path)
    assert cli.main(['excite', 'check', str(path), '--robot', 'palida', '--json']) == 1
    captured = capsys.readouterr()
    content = json.loads(captured.out)
    broken = content['broken']
    assert not content['feasible'] and all(row['margin'] < 0 for row in broken)
    strokes = {(row['where'], row['limit']) for row in broken if row['constraint'] == 'stroke'}
    assert len(strokes) == sum(row['constraint'] == 'stroke' for row in broken) > 1
    assert f'breaks {len(broken)} limits: ' in captured.err
    cli.main(['excite', 'check', str(path), '--robot', 'palida'])
    table = capsys.readouterr().out.partition('broken limit')[2].splitlines()
    assert len(table) == 2 + len(broken) and 'exceeded by' in table[0]


def test_excite_check_of_samples(folder, prints, fails):
    """The same step, slow and in an instant."""
    path = folder / 'samples.csv'
    u = np.linspace(0.0, 1.0, 51)
    for duration, run in ((2.0, prints), (0.05, fails)):
        rows = np.zeros((51, 7))
        rows[:, 0], rows[:, 3] = duration * u, -0.755
        rows[:, 2] = 0.03 * u**3 * (10 - 15 * u + 6 * u**2)
        header = 'time,x,y,z,roll,pitch,yaw'
        np.savetxt(path, rows, '%.6f', delimiter=',', header=header, comments='')
        arguments = ['excite', 'check', path, '--robot', 'palida']
        assert 'force' in run(*arguments)
    path.write_text(path.read_text().replace('-0.755000', 'low', 1))
    assert "line 2, column 'z': 'low' is not a number" in fails(*arguments)


def test_excite_show_agrees_with_the_design(folder, prints):
    """With the design's own noise and prior; one period, and more of them."""
    path, other = folder / 'first.yaml', folder / 'second.yaml'
    arguments = ['excite', 'design', '--robot', 'four_bar', '--starts', '1', '--candidates', '2']
    arguments += ['--iterations', '2', '--harmonics', '4', '--json', '--output']
    first = json.loads(prints(*arguments, path))
    mixed = [*arguments, other, '--prior', path, '--noise', 'simulated', '--period', '1.2345']
    second = json.loads(prints(*mixed, '--criterion', 'd_optimal=1,condition_number=0.5'))
    for design, file in ((first, path), (second, other)):
        shown = json.loads(prints('excite', 'show', file, '--robot', 'four_bar', '--json'))
        assert shown['noise'] == ('unit' if file is path else 'simulated')
        for name in CRITERIA:
            assert shown['figures'][name] == pytest.approx(design['figures'][name], rel=1e-8)
        wanted = design['figures']['standard_deviation']
        assert shown['figures']['standard_deviation'] == pytest.approx(wanted, rel=1e-8)
        assert shown['figures']['samples'] == design['figures']['samples']
        assert shown['ramp_time'] == design['ramp_time']
    saved = ExcitationDesign.load(other)
    several = prints('excite', 'show', other, '--robot', 'four_bar', '--json', '--periods', '7')
    deviations = json.loads(several)['figures']['standard_deviation']
    assert deviations == pytest.approx(saved.standard_deviation(7), rel=1e-6)
    # a file that does not tell its noise: the information that it holds
    text = other.read_text()
    other.write_text(text.replace('noise: simulated', 'somebody: else'))
    shown = json.loads(prints('excite', 'show', other, '--robot', 'four_bar', '--json'))
    assert shown['noise'] == 'as designed'
    wanted = second['figures']['standard_deviation']
    assert shown['figures']['standard_deviation'] == pytest.approx(wanted, rel=1e-6)


def test_excite_show_takes_the_servo_of_the_design(folder, prints):
    path = folder / 'stiff.yaml'
    made = ['--starts', '1', '--candidates', '2', '--iterations', '2', '--harmonics', '4']
    robot = ['--robot', 'four_bar']
    prints('excite', 'design', *robot, *made, '--bandwidth', '20', '--output', path)

    def tracking(*servo):
        margins = json.loads(prints('excite', 'show', path, *robot, '--json', *servo))['margins']
        return [each for each in margins if 'tracking' in each['constraint']]

    own, told, other = tracking(), tracking('--bandwidth', '20'), tracking('--bandwidth', '10')
    assert own and own == told != other


@pytest.mark.parametrize(
    ('options', 'status', 'message'),
    [
        (['--starts', 'many'], 2, "--starts: 'many' is not a whole number >= 0"),
        (['--harmonics', '0'], 2, "--harmonics: '0' is not a whole number >= 1"),
        (['--period', 'nan'], 2, "--period: 'nan' is not a positive number"),
        (['--force-margin', '1'], 2, "--force-margin: '1' is not a fraction"),
        (['--acceleration', '0'], 2, "--acceleration: '0' is not a positive number"),
        (['--criterion', 'd_optimal=x'], 2, "--criterion: 'x' is not a positive number"),
        (['--criterion', 'best'], 2, "'best' is unknown; valid are d_optimal, a_optimal"),
        (['--criterion', 'd_optimal,d_optimal'], 2, 'names a criterion twice'),
        (['--prior', 'none.yaml'], 1, "'none.yaml' cannot be read: it does not exist"),
        (['--initial', 'none.yaml'], 1, "no trajectory file 'none.yaml'"),
        (['--initial', 'friction_sweep'], 1, "'friction_sweep' is a sampled trajectory"),
        (['--plot', 'picture.gif'], 1, "'picture.gif' must end in .png"),
        (['--force-margin', '0.999'], 1, 'force'),
        (
            ['--period', '0.001'],
            1,
            "the servo's bandwidth of 10 Hz: the period must be at least 0.5",
        ),
    ],
)
def test_excite_design_refuses(folder, fails, options, status, message):
    path = folder / 'refused.yaml'
    arguments = ['excite', 'design', '--robot', 'four_bar', '--output', path, *options]
    assert message in fails(*arguments, status=status)
    assert not path.exists()


def test_excite_design_names_the_robot_of_a_prior(folder, fails):
    path = folder / 'of_four_bar.yaml'
    options = ['--starts', '1', '--iterations', '1', '--harmonics', '4', '--output']
    assert cli.main(['excite', 'design', '--robot', 'four_bar', *options, str(path)]) == 0
    other = folder / 'of_five_bar.yaml'
    for option in ('--prior', '--initial'):
        line = fails('excite', 'design', '--robot', 'five_bar', *options, other, option, path)
        assert "'four_bar', not" in line and "'five_bar'" in line


def test_excite_preset(folder, prints, fails, capsys):
    assert 'friction_sweep' in prints('excite', 'preset', '--robot', 'four_bar')
    path = folder / 'sine.yaml'
    arguments = ['excite', 'preset', 'sine_crank_joint', '--robot', 'four_bar', '--output', path]
    content = json.loads(prints(*arguments, '--json'))
    assert content['feasible'] and content['duration'] == 0.5 and path.is_file()
    assert 'not overwritten' in fails(*arguments)
    sizes = ['--amplitude', '1.2', '--frequency', '3']
    text = [str(argument) for argument in (*arguments[:-1], folder / 'fast.yaml', *sizes)]
    assert cli.main(text) == 0  # taken as it is, and said
    captured = capsys.readouterr()
    assert 'warning: with the sizes that were given' in captured.err
    assert 'velocity of crank_joint' in captured.out
    assert max(map(len, captured.out.splitlines())) <= 100
    weak = [str(argument) for argument in (*arguments[:-2], '--bandwidth', '2')]
    assert cli.main([*weak, '--json']) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)['followed'] is False and content['followed'] is True
    assert 'not expected to follow: tracking of crank_joint' in captured.err
    assert cli.main([*weak, '--feedforward', 'nominal']) == 0
    captured = capsys.readouterr()
    assert 'warning' not in captured.err
    assert 'under its servo:\n  tracking of crank_joint' in captured.out
    line = fails('excite', 'preset', 'sine_x', '--robot', 'four_bar')
    assert "'sine_x' is unknown" in line and 'sine_crank_joint' in line
    assert 'lower_joint' in fails('excite', 'preset', '--robot', 'cart_pendulum')


def test_excite_design(folder, prints, fails):
    path = folder / 'design.yaml'
    arguments = ['excite', 'design', '--robot', 'palida', '--harmonics', '3', '--period', '2']
    arguments += ['--starts', '1', '--iterations', '1', '--candidates', '2', '--output', path]
    content = json.loads(prints(*arguments, '--json'))
    assert content['period'] == 2.0
    prints('excite', 'check', path, '--robot', 'palida', '--ramp-time', content['ramp_time'])
    assert 'not overwritten' in fails(*arguments)
    arguments[-1] = folder / 'design.txt'
    assert '.yaml' in fails(*arguments)
    assert not (folder / 'design.txt').exists()


def test_excite_run_without_a_server(folder, trajectory, fails):
    pytest.importorskip('rclpy')
    arguments = ['excite', 'run', trajectory, '--robot', 'palida', '--timeout', '0.2']
    line = fails(*arguments, '--server', 'nobody_there', '--bag', folder / 'bag')
    assert 'nobody_there/excite' in line
    again = ['excite', 'run', 'point_to_point', '--robot', 'palida', '--bag', folder / 'bag']
    assert "'point_to_point' ends at rest and runs once" in fails(*again, '--periods', '2')
    assert 'not overwritten' in fails(*arguments, '--bag', folder)
    assert not (folder / 'bag').exists()
