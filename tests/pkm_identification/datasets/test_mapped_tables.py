"""Tables of other programs through a file of names: values, units, errors, proposals."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.io import savemat

from pkm_description.errors import DatasetError
from pkm_identification.datasets import load
from pkm_identification.datasets.tables.column_proposal import proposed_mapping
from pkm_identification.datasets.tables.text_table import sniffed

COUNT = 25
TIME = 0.004 * np.arange(COUNT)
Q = np.random.default_rng(1).uniform(-1.0, 1.0, (COUNT, 2))
F = np.random.default_rng(2).uniform(-9.0, 9.0, (COUNT, 2))
NAMES = {'time': 't', 'joints': ['a', 'b'], 'position': 'q{n}', 'effort': 'tau{n}'}


def write(path: Path, header: str, columns, delimiter: str = ',', comma: bool = False) -> Path:
    """Write a text table to all digits."""
    lines = [header] if header else []
    for row in np.column_stack(columns):
        text = delimiter.join(repr(float(value)) for value in row)
        lines.append(text.replace('.', ',') if comma else text)
    path.write_text('\n'.join(lines) + '\n')
    return path


@pytest.fixture
def csv(tmp_path):
    return write(tmp_path / 'run.csv', 't,q1,q2,tau1,tau2', (TIME, Q, F))


def assert_read(recording, time=TIME, positions=Q, efforts=F):
    np.testing.assert_allclose(recording.time, time, atol=1e-12)
    np.testing.assert_allclose(recording.positions, positions, rtol=1e-14)
    np.testing.assert_allclose(recording.efforts, efforts, rtol=1e-14)


def test_a_file_of_names_beside_the_data_is_found(csv):
    beside = csv.with_name('columns.yaml')
    beside.write_text('{time: t, joints: [a, b], position: "q{n}", effort: "tau{n}"}')
    found = load(csv)
    assert_read(found)
    assert found.joint_names == ('a', 'b')
    assert found.provenance['columns'] == str(beside)
    own = csv.with_name('run.columns.yaml')
    own.write_text(beside.read_text().replace('[a, b]', '[c, d]'))
    assert load(csv).joint_names == ('c', 'd')
    other = csv.with_name('other.yaml')
    other.write_text(beside.read_text().replace('[a, b]', '[e, f]'))
    assert load(csv, columns=str(other)).joint_names == ('e', 'f')


@pytest.mark.parametrize('name', ['run.columns.yml', 'run.csv.columns.yaml'])
def test_a_file_of_nearly_that_name_is_an_error(csv, name):
    csv.with_name(name).write_text('{}')
    with pytest.raises(DatasetError, match=f"{name}' is not read: .* called 'run.columns.yaml'"):
        load(csv)


def test_units_gears_signs_and_offsets(tmp_path):
    path = write(tmp_path / 'run.csv', 't,c,deg,m,cur', (TIME * 1e3, Q * [5e3, 90.0], F))
    names = {
        'time': {'column': 't', 'unit': 'ms'},
        'joints': {
            'a': {
                'position': {'column': 'c', 'unit': 'count', 'counts_per_turn': 4096, 'gear': 50},
                'effort': {'column': 'm', 'unit': 'mN m', 'gear': 50, 'sign': -1},
            },
            'b': {
                'position': {'column': 'deg', 'unit': 'deg', 'offset': 0.25, 'scale': 2.0},
                'effort': 'cur',
            },
        },
    }
    first = Q[:, 0] * 5e3 / 4096 * 2 * np.pi / 50  # turns of the motor, then the joint's
    second = 2.0 * np.deg2rad(Q[:, 1] * 90.0) + 0.25
    efforts = np.column_stack([-F[:, 0] * 1e-3 * 50, F[:, 1]])
    assert_read(load(path, columns=names), TIME, np.column_stack([first, second]), efforts)


def test_measured_velocities(tmp_path):
    columns = (TIME, Q, Q * 60, F)
    path = write(tmp_path / 'run.csv', 't,q1,q2,dq1,dq2,tau1,tau2', columns)
    velocity = {'column': 'dq{n}', 'unit': 'rpm', 'gear': 10, 'sign': -1}
    found = load(path, columns=NAMES | {'velocity': velocity})
    np.testing.assert_allclose(found.velocities, -Q * 2 * np.pi / 10, rtol=1e-14)
    assert 'velocity: dq1' in proposed_mapping(path)


@pytest.mark.parametrize(('unit', 'size'), [('s', 1.0), ('ms', 1e-3), ('us', 1e-6), ('ns', 1e-9)])
def test_units_of_time(tmp_path, unit, size):
    path = write(tmp_path / 'run.csv', 't,q1,q2,tau1,tau2', (TIME / size, Q, F))
    assert_read(load(path, columns=NAMES | {'time': {'column': 't', 'unit': unit}}))


def test_large_stamps_keep_their_digits(tmp_path):
    start = 1_700_000_000
    nanoseconds = np.round(TIME * 1e9)
    path = write(
        tmp_path / 'run.csv', 's,ns,q1,q2,tau1,tau2', (np.full(COUNT, start), nanoseconds, Q, F)
    )
    time = {'seconds': 's', 'nanoseconds': 'ns'}
    np.testing.assert_allclose(load(path, columns=NAMES | {'time': time}).time, TIME, atol=1e-12)


def test_a_rate_where_there_is_no_time(csv):
    names = {name: value for name, value in NAMES.items() if name != 'time'} | {'rate': 250}
    assert_read(load(csv, columns=names))


@pytest.mark.parametrize(
    ('delimiter', 'further'),
    [(';', {'delimiter': ';', 'decimal': ','}), ('\t', {'delimiter': 'tab', 'decimal': ','})],
)
def test_decimal_commas(tmp_path, delimiter, further):
    header = delimiter.join(['t', 'q1', 'q2', 'tau1', 'tau2'])
    path = write(tmp_path / 'run.csv', header, (TIME, Q, F), delimiter, comma=True)
    assert_read(load(path, columns=NAMES | further))


def test_no_header_comments_and_units_below_the_header(tmp_path):
    path = write(tmp_path / 'run.txt', '% logged by x\n', (TIME, Q, F), ' ')
    names = {'time': 0, 'header': 'none', 'comment': '%', 'delimiter': 'space'}
    names |= {'joints': {'a': {'position': 1, 'effort': 3}, 'b': {'position': 2, 'effort': 4}}}
    assert_read(load(path, columns=names))
    path = write(tmp_path / 'run.dat', '# t,q1,q2,tau1,tau2\ns,rad,rad,Nm,Nm', (TIME, Q, F))
    assert_read(load(path, columns=NAMES | {'header': 1, 'first_sample': 3}))


def test_other_columns_may_hold_texts_and_cells_nothing(tmp_path):
    path = tmp_path / 'run.csv'
    lines = [
        f'{t!r},go,{q!r},{f!r}'
        for t, q, f in zip(*(each.tolist() for each in (TIME, Q[:, 0], F[:, 0])), strict=True)
    ]
    lines[7] = f'{TIME[7]},go,,{F[7, 0]}'
    path.write_text('\n'.join(['t,mode,q1,tau1', *lines]))
    found = load(path, columns=NAMES | {'joints': ['a']})
    assert found.position_valid is not None
    np.testing.assert_array_equal(np.flatnonzero(~found.position_valid[:, 0]), [7])
    lines[9] = '0.036,go,oops,1'
    path.write_text('\n'.join(['t,mode,q1,tau1', *lines]))
    with pytest.raises(DatasetError, match="line 11, column 'q1': 'oops' is not a number"):
        load(path, columns=NAMES | {'joints': ['a']})


def test_a_long_text_is_read_in_parts(csv, monkeypatch):
    monkeypatch.setattr('pkm_identification.datasets.tables.text_table.ROWS', 4)
    assert_read(load(csv, columns=NAMES))


@pytest.mark.parametrize('turned', [False, True])
def test_arrays_of_mat_and_npz(tmp_path, turned):
    from scipy.io import savemat

    q, f = (Q.T, F.T) if turned else (Q, F)
    savemat(tmp_path / 'run.mat', {'log': {'t': TIME, 'q': q, 'tau': f}})
    np.savez(tmp_path / 'run.npz', t=TIME, q=q, tau=f)
    whole = {'time': 't', 'joints': ['a', 'b'], 'position': 'q', 'effort': 'tau'}
    assert_read(load(tmp_path / 'run.npz', columns=whole))
    inside = {'time': 'log.t', 'joints': ['a', 'b'], 'position': 'log.q', 'effort': 'log.tau'}
    assert_read(load(tmp_path / 'run.mat', columns=inside))
    crossed = {'a': {'position': ['q', 1], 'effort': ['tau', 1]}}
    crossed |= {'b': {'position': ['q', 0], 'effort': ['tau', 0]}}
    found = load(tmp_path / 'run.npz', columns={'time': 't', 'joints': crossed})
    assert_read(found, TIME, Q[:, ::-1], F[:, ::-1])


def test_a_mat_file_of_version_7_3_is_refused(tmp_path):
    path = tmp_path / 'run.mat'
    header = b'MATLAB 7.3 MAT-file'.ljust(116) + bytes(8) + (0x0200).to_bytes(2, 'little') + b'IM'
    path.write_bytes(header + bytes(600))
    with pytest.raises(DatasetError, match=r"version 7.3 \(HDF5\), which is not read: .* '-v7'"):
        load(path, columns=NAMES)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / 'run.parquet').write_bytes(b'PAR1')
    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    with pytest.raises(DatasetError, match='needs pyarrow, which is not .* pip install pyarrow'):
        load(tmp_path / 'run.parquet', columns=NAMES)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip('pyarrow')
    from pyarrow import parquet

    columns = {'t': TIME, 'q': list(Q), 'tau1': F[:, 0], 'tau2': F[:, 1]}
    parquet.write_table(pyarrow.table(columns), tmp_path / 'run.parquet')
    names = {'time': 't', 'joints': ['a', 'b'], 'position': 'q', 'effort': 'tau{n}'}
    assert_read(load(tmp_path / 'run.parquet', columns=names))


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'position': 'Q{n}x'}, r"no column 'Q1x'.* names as position of joint a; columns are t,"),
        ({'effort': 'taus{n}'}, r"no column 'taus1' \(is 'tau1' meant\?\)"),
        ({'effort': 'tau1'}, "effort of joint a and effort of joint b are the same column 'tau1'"),
        ({'position': {'column': 'q{n}', 'unit': 'grad'}}, r"unit 'grad' \(is 'rad' meant\?\)"),
        ({'position': {'colum': 'q1'}}, r"unknown key 'colum' \(is 'column' meant\?\)"),
        ({'positon': 'q'}, r"unknown key 'positon' \(is 'position' meant\?\)"),
        ({'rate': 100}, 'one of time .* and rate .* not both'),
        ({'effort': None}, r'^(?!.*None.*None).*effort of joint a must name a column'),
        ({'joints': 'a'}, "joints must be a list of names .* not 'a'"),
        ({'joints': ['a', 'a']}, "joints lists 'a' twice"),
        ({'position': {'column': 'q{n}', 'sign': 2}}, 'sign of position .* must be 1 or -1, not 2'),
        ({'position': {'column': 'q{n}', 'unit': 'count'}}, 'counts_per_turn need each other'),
        ({'position': {'column': 'q{n}', 'gear': 0}}, 'gear of position .* must not be 0'),
        ({'current': {'column': 'q{n}', 'gear': 2}}, 'has a gear: force constants are of joints'),
        ({'time': {'column': 't', 'unit': 'min'}}, "time has the unknown unit 'min'; units are s"),
        ({'delimiter': '::'}, "delimiter must be one character, tab or space .* not '::'"),
        ({'decimal': ','}, 'not the delimiter'),
        ({'header': 'yes'}, "header must be none or the number of a line, from 1, not 'yes'"),
    ],
)
def test_errors_name_the_key(csv, change, message):
    with pytest.raises(DatasetError, match=message) as caught:
        load(csv, columns=NAMES | change)
    assert 'run.csv' in str(caught.value) or "'columns'" in str(caught.value)


HEADERS = {
    't,q1,q2,tau1,tau2': ('joint1', 'joint2'),
    'time,position_elbow,position_wrist,effort_elbow,effort_wrist': ('elbow', 'wrist'),
    'Time,elbow_pos,wrist_pos,elbow_torque,wrist_torque': ('elbow', 'wrist'),
    'time,elbow.position,wrist.position,elbow.torque,wrist.torque': ('elbow', 'wrist'),
    'stamp,/joint_states/elbow/position,/joint_states/wrist/position,'
    '/joint_states/elbow/effort,/joint_states/wrist/effort': ('elbow', 'wrist'),
    'timestamp,actual_q_0,actual_q_1,target_moment_0,target_moment_1': None,
    'timestamp,actual_q_0,actual_q_1,actual_moment_0,actual_moment_1': ('joint0', 'joint1'),
}


@pytest.mark.parametrize('header', HEADERS)
def test_a_mapping_is_proposed_in_the_error_and_works(tmp_path, header):
    path, joints = write(tmp_path / 'run.csv', header, (TIME, Q, F)), HEADERS[header]
    with pytest.raises(DatasetError) as caught:
        load(path)
    if joints is None:  # wanted efforts are no measured ones
        assert proposed_mapping(path) == '' and 'write' not in str(caught.value)
        return
    reason, text = str(caught.value).split('\n\n', 1)
    assert reason.endswith("write into '" + str(tmp_path / 'run.columns.yaml') + "':")
    (tmp_path / 'run.columns.yaml').write_text(text)
    found = load(path)
    assert_read(found)
    assert found.joint_names == joints


def test_a_proposal_has_the_joints_of_the_robot_and_the_form_of_the_text(tmp_path):
    path = write(tmp_path / 'run.csv', 't ms;q1;q2;tau1;tau2', (TIME * 1e3, Q, F), ';', comma=True)
    assert (sniffed(path).delimiter, sniffed(path).decimal) == (';', ',')
    text = proposed_mapping(path, ['shoulder', 'elbow'])
    assert 'shoulder: {position: q1, effort: tau1}' in text
    (tmp_path / 'run.columns.yaml').write_text(text)
    assert_read(load(path))


@pytest.mark.parametrize(
    ('header', 'sizes'),
    [
        ('time [s],q1 [rad],q2 [rad],tau1 [N m],tau2 [N m]', (1.0, 1.0, 1.0)),
        ('t (ms),q1 (deg),q2 (deg),tau1 (mN·m),tau2 (mN·m)', (1e3, 180 / np.pi, 1e3)),
        ('t [µs],pos_1[mm],pos_2[mm],force_1 [kN],force_2 [kN]', (1e6, 1e3, 1e-3)),
        ('time_s,q1_deg,q2_deg,tau1_nm,tau2_nm', (1.0, 180 / np.pi, 1.0)),
    ],
)
def test_a_proposal_takes_the_units_of_a_heading(tmp_path, header, sizes):
    time, position, force = sizes
    path = write(tmp_path / 'run.csv', header, (TIME * time, Q * position, F * force))
    (tmp_path / 'run.columns.yaml').write_text(proposed_mapping(path))
    found = load(path)
    assert_read(found)
    assert found.joint_names == ('joint1', 'joint2')


def test_a_proposal_for_exported_bags(tmp_path):
    header = 'header.stamp.sec,header.stamp.nanosec,position[0],position[1],effort[0],effort[1]'
    seconds = np.full(COUNT, 1.7e9)
    path = write(tmp_path / 'run.csv', header, (seconds, np.round(TIME * 1e9), Q, F))
    (tmp_path / 'run.columns.yaml').write_text(proposed_mapping(path))
    assert_read(load(path))


def test_a_proposal_for_arrays_takes_what_was_measured_and_its_own_time(tmp_path):
    path = tmp_path / 'run.mat'
    arrays = {name: np.ones((3, 40)) for name in ('tau_model', 'act_pos_deg', 'act_torque')}
    savemat(path, {'para': {'k_t': np.ones(3)}, 'rec': {'time_s': 0.004 * np.arange(40), **arrays}})
    assert yaml.safe_load(proposed_mapping(path)) == {
        'time': 'rec.time_s',
        'joints': ['joint1', 'joint2', 'joint3'],
        'position': {'column': 'rec.act_pos_deg', 'unit': 'deg'},
        'effort': 'rec.act_torque',
    }
