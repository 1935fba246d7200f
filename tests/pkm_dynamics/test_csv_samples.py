"""Sampled trajectories from CSV files."""

import numpy as np
import pytest

from pkm_description.errors import TrajectoryError
from pkm_dynamics.trajectories import load_trajectory

POSE = ['x', 'y', 'z', 'roll', 'pitch', 'yaw']


def write(path, names, columns):
    np.savetxt(path, np.stack(columns, axis=1), delimiter=',', header=','.join(names), comments='')
    return path


def step(size, count=101):
    u = np.linspace(0.0, 1.0, count)
    return 2.0 * u, size * u**3 * (10 - 15 * u + 6 * u**2)


def test_platform_samples(tmp_path):
    time, moved = step(0.1)
    still = np.zeros_like(time)
    columns = [time, still, moved, still - 0.7, still, still, still]
    trajectory = load_trajectory(write(tmp_path / 'a.csv', ['time', *POSE], columns))
    assert trajectory.coordinates == 'platform' and trajectory.duration == 2.0
    position, velocity, _ = trajectory.evaluate([1.0])
    np.testing.assert_allclose(position[0], [0, 0.05, -0.7, 0, 0, 0], atol=1e-9)
    assert velocity[0, 1] == pytest.approx(0.1 * 1.875 / 2.0, rel=1e-6)


def test_joints_in_any_order_with_other_columns(tmp_path):
    time, moved = step(0.2)
    names = ['b.position', 'time', 'b.effort', 'a']
    path = write(tmp_path / 'a.csv', names, [moved, time, 99 + moved, -moved])
    trajectory = load_trajectory(path)
    assert trajectory.coordinate_names == ('b', 'a')
    assert trajectory.ordered(['a', 'b']).evaluate([2.0])[0].tolist() == [[-0.2, 0.2]]


TEXTS = {
    'empty': '',
    'header': 'time,a\n\n',
    'twice': 'time,a,a\n0,1,1\n1,1,1\n',
    'semicolons': 'time;a\n0;1\n1;1\n',
    'hole': 'time,a\n0,1\n1,\n2,1\n',
}


def bad(tmp_path, name):
    path = tmp_path / 'bad.csv'
    time, moved = step(0.1)
    if name == 'words':
        path.write_text('time,a\n0,0\n1,nought\n')
    elif name == 'time':
        write(path, ['t', 'a'], [time, moved])
    elif name == 'pose':
        write(path, ['time', 'x', 'y'], [time, moved, moved])
    elif name == 'effort':
        write(path, ['time', 'a.effort'], [time, moved])
    elif name == 'speed':
        write(path, ['time', 'a'], [time, np.sin(time)])
    elif name == 'end':
        write(path, ['time', 'a'], [time, 1 - np.cos(time)])
    elif name == 'backwards':
        write(path, ['time', 'a'], [time[::-1], moved])
    elif name == 'short':
        path.write_text('time,a,b\n0,1\n1,2\n')
    elif name == 'nan':
        path.write_text('time,a,b.position,c.effort\n0,1,1,nan\n1,1,1,nan\n2,1,nan,nan\n')
    elif name == 'binary':
        path.write_bytes(bytes(range(256)))
    elif name in TEXTS:
        path.write_text(TEXTS[name])
    return path


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('words', "line 3, column 'a': 'nought' is not a number"),
        ('time', "has no column 'time'"),
        ('pose', 'lack z, roll, pitch, yaw'),
        ('effort', 'one for each actuated joint'),
        ('speed', "begins at 1 of 'a' per second"),
        ('end', "ends at .* of 'a' per second"),
        ('backwards', 'line 3: time must increase, got 1.98 s after 2 s'),
        ('short', 'line 2: 2 numbers under 3 column names'),
        ('empty', 'no first line that names the columns'),
        ('header', '0 samples; a motion needs at least two'),
        ('twice', "column 'a' is there twice"),
        ('semicolons', "one column, 'time;a'; .* separated by commas"),
        ('hole', "line 3, column 'a': '' is not a number"),
        ('nan', "line 4, column 'b.position': nan is not finite"),
        ('binary', 'not a text file'),
        ('missing', 'cannot be read'),
    ],
)
def test_errors_name_file_and_reason(tmp_path, name, message):
    with pytest.raises(TrajectoryError, match=f'bad.csv.*{message}'):
        load_trajectory(bad(tmp_path, name))
