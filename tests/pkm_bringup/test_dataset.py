"""`pkm dataset`: made twice the same, truth apart, damage and other digits named, fair scores."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pkm_bringup import cli
from pkm_bringup.outputs import OutputError
from pkm_bringup.public_data.dataset_cases import TRAIN, Case, DatasetOptions
from pkm_bringup.public_data.dataset_comparison import check_dataset
from pkm_bringup.public_data.dataset_contents import FORCES, RECORDING, Content, difference
from pkm_bringup.public_data.dataset_files import ENDINGS, read_table, write_content, write_table
from pkm_bringup.public_data.dataset_making import make_dataset
from pkm_bringup.public_data.dataset_manifest import MANIFEST, RECORDINGS, Manifest, read_manifest
from pkm_bringup.public_data.dataset_recordings import case_contents, period_of
from pkm_bringup.public_data.dataset_scores import score_dataset
from pkm_bringup.runner import Runner
from pkm_bringup.studies.runs.plants import model_of
from pkm_description import DescriptionError, load
from pkm_description.errors import DatasetError, EstimationError
from pkm_dynamics import ClosedChainModel
from pkm_identification import identify
from pkm_identification import load as load_recording
from pkm_identification.datasets import Recording
from pkm_identification.model_selection import term_search
from pkm_identification.result.drive_terms import Term

SMALL = DatasetOptions(('delta', 'uf_pkm'), (0.0, 1.0), seed=3, periods=2)
SMALLEST = DatasetOptions(('delta',), (1.0,), seed=3, periods=2, formats=('csv', 'npz'))
CASE = Case('delta', 1.0, False)


def made(folder: Path, options: DatasetOptions, workers: int = 1) -> Manifest:
    return make_dataset(folder, options, lambda kept: Runner(workers, kept=kept))


@pytest.fixture(scope='module')
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('public') / 'data'
    made(folder, SMALL)
    return folder


@pytest.fixture
def copied(dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(dataset, tmp_path / 'copy'))


def recordings(folder: Path) -> list[str]:
    return [path for path, each in read_manifest(folder).contents.items() if 'period' in each]


def test_it_comes_out_the_same_in_two_processes_and_whatever_else_it_holds(
    dataset: Path, tmp_path: Path
) -> None:
    whole = read_manifest(dataset).contents
    again = made(tmp_path / 'again', SMALL, workers=2).contents
    assert again == whole
    alone = made(tmp_path / 'alone', SMALLEST).contents
    own = {path: each for path, each in alone.items() if path != 'README.md'}
    assert len(own) == 5 + 2 + 4 and own.items() <= whole.items()
    other = made(tmp_path / 'other', replace(SMALLEST, seed=4)).contents
    unchanged = [path for path in own if other[path] == own[path]]
    assert set(unchanged) == {'motions/delta', 'robots/delta/delta.urdf', 'robots/delta/delta.yaml'}
    assert not list(tmp_path.glob('*.runs'))


def test_all_formats_hold_the_same_numbers(dataset: Path) -> None:
    paths = recordings(dataset)
    assert len(paths) == 2 * 2 * 2 * 2
    for path in paths:
        npz, csv, bag = (load_recording(dataset / f'{path}{end}') for end in ENDINGS.values())
        period = read_manifest(dataset).contents[path]['period']
        assert npz.period == pytest.approx(period) == pytest.approx(bag.period)
        for other in (csv, bag):
            assert other.joint_names == npz.joint_names
            assert np.array_equal(other.positions, npz.positions)
            assert np.array_equal(other.efforts, npz.efforts)
            assert other.time == pytest.approx(npz.time, abs=1e-12)


def test_nothing_but_the_folder_of_truth_holds_it(dataset: Path) -> None:
    for path in recordings(dataset):
        for end in ENDINGS.values():
            data = load_recording(dataset / f'{path}{end}')
            assert data.truth is None and not data.urdf and not data.sidecar
        with np.load(dataset / f'{path}.npz') as file:
            assert set(file) == {'time', 'joint_names', 'positions', 'efforts', 'period'}
    rows = (dataset / 'truth' / 'delta_parameters.csv').read_text().splitlines()[1:]
    true = {row.split(',')[1] for row in rows} - {'0.0'}
    effects = json.loads((dataset / 'truth' / 'delta_effects.json').read_text())
    true |= {str(x) for x in effects['cogging_amplitude'].values()}
    public = [p for p in dataset.rglob('*') if p.is_file() and 'truth' not in p.parts]
    texts = [p.read_text() for p in public if p.suffix in ('.urdf', '.yaml', '.md', '.json')]
    assert len(true) > 15 and len(texts) > 10
    assert not [number for number in true for text in texts if number in text]
    described = load(str(dataset / 'robots' / 'delta' / 'delta.urdf'))
    assert described.urdf == load('delta').urdf


def test_the_recorded_robot_is_a_robot_near_the_described_one(dataset: Path) -> None:
    model = model_of('delta')
    rows = (dataset / 'truth' / 'delta_parameters.csv').read_text().splitlines()[1:]
    true = {name: float(value) for name, value in (row.split(',') for row in rows)}
    assert list(true) == list(model.parameter_names)
    described = dict(zip(model.parameter_names, model.nominal_parameters, strict=True))
    ratios = {name: true[name] / value for name, value in described.items() if value}
    assert all(true[name] == 0.0 for name, value in described.items() if not value)
    bodies = [ratios[name] for name in ratios if name.startswith('arm2.')]
    assert len(bodies) > 4 and np.ptp(bodies) < 1e-8  # one factor: inertias of a real body
    assert ratios['arm1.m'] == pytest.approx(ratios['arm3.m'], abs=1e-8)  # one design
    assert ratios['arm1.m'] != pytest.approx(ratios['platform.m'], abs=1e-3)
    off = {name: abs(ratio - 1.0) for name, ratio in ratios.items()}
    assert max(off.values()) <= 0.4 and max(off[name] for name in off if '.m' in name) <= 0.2


def test_measured_forces_are_the_true_ones_with_the_noise_that_is_declared(dataset: Path) -> None:
    truth = read_table(dataset / 'truth' / 'uf_pkm_plain.csv', FORCES).signals['effort']
    test = load_recording(dataset / 'recordings' / 'uf_pkm_noise1_plain' / 'test.npz')
    errors = test.efforts - np.tile(truth, (2, 1))
    assert errors.std(axis=0) == pytest.approx(8.0, rel=0.1)  # [N], 1884 samples of each drive
    assert np.abs(errors.mean(axis=0)).max() < 5 * 8.0 / np.sqrt(len(errors))
    exact = load_recording(dataset / 'recordings' / 'uf_pkm_noise0_plain' / 'test.csv')
    assert np.abs(exact.efforts - np.tile(truth, (2, 1))).max() < 0.51e-3


def test_effects_are_those_that_the_truth_names(dataset: Path) -> None:
    motion = np.genfromtxt(dataset / 'motions' / 'delta.csv', delimiter=',', names=True)
    plain, both = (
        np.genfromtxt(dataset / 'truth' / f'delta_{name}.csv', delimiter=',', names=True)
        for name in ('plain', 'effects')
    )
    effects = json.loads((dataset / 'truth' / 'delta_effects.json').read_text())
    for joint, amplitude in effects['cogging_amplitude'].items():
        column = f'{joint}effort'  # NumPy leaves the point out
        off, speed = both[column] - plain[column], motion[f'{joint}velocity']
        phase = 2 * np.pi * motion[f'{joint}position'] / effects['cogging_period'][joint]
        friction = off + amplitude * np.sin(phase + effects['cogging_phase'][joint])
        largest = effects['stribeck_force'][joint]
        expected = largest * np.exp(-np.abs(speed) / effects['stribeck_velocity']) * np.sign(speed)
        moving = np.abs(speed) > 10 * effects['transition_velocity']
        assert moving.sum() > 500
        assert friction[moving] == pytest.approx(expected[moving], abs=1e-4 * largest)
        assert 0.3 < np.abs(friction).max() / largest <= 1.0 + 1e-6


def test_an_untouched_dataset_is_bit_equal(dataset: Path) -> None:
    found = check_dataset(dataset, Runner(1))
    assert found['contents'] == len(read_manifest(dataset).contents)
    assert not found['damaged'] and not found['differing'] and not found['versions']


def changed_byte(path: Path, where: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(where * len(data))] ^= 1
    path.write_bytes(data)


def test_changed_bytes_are_noticed(copied: Path) -> None:
    train = copied / 'recordings' / CASE.name / 'train'
    text = train.with_suffix('.csv').read_text()
    place = text.index('\n', len(text) // 2) - 1
    digit = '1' if text[place] != '1' else '2'
    train.with_suffix('.csv').write_text(text[:place] + digit + text[place + 1 :])
    changed_byte(train.with_suffix('.npz'), 0.5)
    changed_byte(train / 'train.mcap', 0.4)
    (copied / 'recordings' / CASE.name / 'test.csv').unlink()
    changed_byte(copied / 'robots' / 'delta' / 'delta.urdf', 0.5)
    changed_byte(copied / 'truth' / 'delta_parameters.csv', 0.5)
    changed_byte(copied / 'README.md', 0.5)
    found = check_dataset(copied, Runner(1))
    damage = {file: why for each in found['damaged'] for file, why in each['damage'].items()}
    stem = f'recordings/{CASE.name}'
    assert set(damage) == {
        f'{stem}/train',
        f'{stem}/train.csv',
        f'{stem}/train.npz',
        f'{stem}/test.csv',
        'robots/delta/delta.urdf',
        'truth/delta_parameters.csv',
        'README.md',
    }
    assert damage[f'{stem}/train.csv'] == 'differs from the manifest'
    assert not found['differing']


def written_elsewhere(folder: Path, change: Callable[[Content], Content]) -> None:
    """Write a recording as another machine might have, its manifest too."""
    manifest = read_manifest(folder)
    path = f'recordings/{CASE.name}/train'
    data = load_recording(folder / f'{path}.npz')
    content = change(
        Content.of(data.joint_names, RECORDING, data.time, data.positions, data.efforts)
    )
    shutil.rmtree(folder / path)
    for end in ('.csv', '.npz'):
        (folder / f'{path}{end}').unlink()
    write_content(folder, path, content, manifest.options.formats, data.period)
    entry = {**manifest.contents[path], 'sha256': content.digest()}
    text = replace(manifest, contents={**manifest.contents, path: entry}).text()
    (folder / MANIFEST).write_text(text)


def test_other_digits_are_named(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(content: Content) -> Content:
        efforts = content.signals['effort'].copy()
        efforts[7, 1] += 0.002
        efforts[9, 1] -= 0.001
        return Content(content.joints, {**content.signals, 'effort': efforts}, content.decimals)

    written_elsewhere(copied, change)
    found = check_dataset(copied, Runner(1))
    (differing,) = found['differing']
    column = load_recording(copied / 'recordings' / CASE.name / 'train.npz').efforts[:, 1]
    off = differing['difference']
    assert differing['path'] == f'recordings/{CASE.name}/train' and not found['damaged']
    assert (off['numbers'], off['columns']) == (2, ['arm2_joint.effort'])
    assert off['largest'] == pytest.approx(0.002 / column.std(), rel=1e-3)
    assert off['digits'] == 4  # 0.002 of at most some 20 N m
    assert cli.main(['dataset', 'check', str(copied), '--workers', '1']) == 1
    assert 'arm2_joint.effort' in capsys.readouterr().out


def test_a_difference_has_digits_and_size() -> None:
    time, values = np.arange(4) * 1e-3, np.array([[1.0], [2.0], [3.0], [4.0]])
    one = Content.of(['a'], RECORDING, time, values, values)
    off = difference(
        one, Content.of(['a'], RECORDING, time, values, values + [[0], [0], [0.03], [0]])
    )
    assert (off['numbers'], off['columns'], off['digits']) == (1, ['a.effort'], 2)
    assert off['largest'] == pytest.approx(0.03 / values.std())
    assert difference(one, one)['numbers'] == 0
    with pytest.raises(DatasetError, match='3 samples, 4 when made here'):
        difference(one, Content.of(['a'], RECORDING, time[:3], values[:3], values[:3]))


def estimates(folder: Path, source: Path, cases: list[Case], factor: float) -> Path:
    folder.mkdir()
    for case in cases:
        truth = read_table(source / 'truth' / f'{case.robot}_{case.condition}.csv', FORCES)
        signals = {**truth.signals, 'effort': factor * truth.signals['effort']}
        content = Content(truth.joints, signals, FORCES)
        write_table(folder / f'{case.name}.csv', content)
    return folder


def test_scores_rank_the_truth_above_a_wrong_model(dataset: Path, tmp_path: Path) -> None:
    manifest = read_manifest(dataset)
    exact = estimates(tmp_path / 'exact', dataset, manifest.cases, 1.0)
    wrong = estimates(tmp_path / 'wrong', dataset, manifest.cases, 1.05)
    few = estimates(tmp_path / 'few', dataset, manifest.cases[:1], 1.0)
    found = score_dataset(manifest, ['nominal', 'wls'], 'described', [wrong, few, exact], Runner(1))
    for effects in (False, True):
        order = [row['estimator'] for row in found['summary'] if row['effects'] == effects]
        assert order[0] == 'exact' and order[-1] == 'few'
        assert order.index('wls') < order.index('nominal')
    rows = {(row['estimator'], row['case']): row for row in found['rows']}
    forces = read_table(dataset / 'truth' / 'delta_plain.csv', FORCES).signals['effort']
    spread = np.abs(forces - forces.mean(axis=0)).sum()
    expected = 0.05 * np.abs(forces).sum() / spread
    assert rows['wrong', CASE.name]['force_error'] == pytest.approx(expected, rel=1e-3)
    assert rows['exact', CASE.name]['force_error'] == 0.0
    assert rows['few', CASE.name]['error'] == f'no {CASE.name}.csv'
    model = model_of('delta')
    motion = np.genfromtxt(dataset / 'motions' / 'delta.csv', delimiter=',', skip_header=1)
    described = model.inverse_dynamics(model.motion_from_actuators(*np.split(motion[:, 1:], 3, 1)))
    expected = np.abs(described - forces).sum() / spread
    assert rows['nominal', CASE.name]['force_error'] == pytest.approx(expected, rel=1e-6)


def test_an_estimate_is_judged_by_the_parameters_of_the_recorded_robot(dataset: Path) -> None:
    manifest = read_manifest(dataset)
    found = [
        score_dataset(manifest, ['gauss_markov', 'output_error'], 'described', [], Runner(workers))
        for workers in (1, 2)
    ]
    for each in found:
        for row in each['rows'] + each['summary']:
            row.pop('seconds', None)
    assert found[0] == found[1]
    rows = {(row['estimator'], row['case']): row for row in found[0]['rows']}
    clean, noisy = (rows['gauss_markov', f'delta_noise{n}_plain'] for n in (0, 1))
    assert clean['force_error'] < 1e-3 < noisy['force_error'] < 0.1
    assert clean['relative_error'] < 1e-3
    # eight standard normal errors: outside with less than one in a thousand
    assert noisy['parameters'] == 8 and 0.3 < noisy['deviations'] < 1.9
    assert noisy['parameters_within'] >= 6
    refused = rows['output_error', CASE.name]
    assert 'reference' in refused['error'] and 'force_error' not in refused
    (summary,) = [
        row
        for row in found[0]['summary']
        if (row['estimator'], row['effects']) == ('output_error', False)
    ]
    assert (summary['scored'], summary['cases']) == (0, 4)


def training(case: Case) -> tuple[Recording, ClosedChainModel]:
    """Recording of a case to estimate from, and the described robot."""
    content = case_contents(case, DatasetOptions())[f'{RECORDINGS}/{case.name}/{TRAIN}']
    time, *arrays = (content.signals[kind] for kind in RECORDING)
    period = period_of(case.robot, TRAIN)
    recording = Recording.from_arrays(time, content.joints, *arrays, period=period)
    return recording, model_of(case.robot)


def test_irls_takes_the_rounds_that_it_needs_where_the_model_lacks_friction() -> None:
    """Each of them makes the step six per cent smaller: fifty do not suffice."""
    case = Case('rps_upv', 1.0, effects=True)
    recording, model = training(case)
    assert identify(recording, model, 'irls').diagnostics.own.iterations > 50
    with pytest.raises(EstimationError, match='in 50 rounds: raise max_iterations='):
        identify(recording, model, 'irls', max_iterations=50)


def test_a_small_force_in_a_part_of_the_stroke_is_no_spring(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ripple looks like one where the motion shows a sixteenth of the stroke: half of a wave."""
    recording, model = training(Case('hexel', 1.0, effects=True))
    shown = np.ptp(np.asarray(recording.positions), axis=0) / (model.upper - model.lower)
    assert shown.max() < 0.1

    def springs() -> list[tuple[str, ...]]:
        result = identify(recording, model, 'wls', friction='auto')
        tried = result.diagnostics.drive_terms.tried_terms
        return [each.joints for each in tried if each.is_taken and each.term is Term.SPRING]

    assert springs() == []
    monkeypatch.setattr(term_search, 'MOST_OF_STROKE', 0.0)  # as if all of it were shown
    assert springs() != []


def edited(text: str, row: int, column: int, cell: str) -> str:
    lines = [line.split(',') for line in text.splitlines()]
    lines[row][column] = cell
    return '\n'.join(','.join(line) for line in lines) + '\n'


@pytest.mark.parametrize(
    ('change', 'told'),
    [
        (
            lambda text: edited(text, 0, 2, 'arm9_joint.effort'),
            'lacks the column arm2_joint.effort',
        ),
        (lambda text: edited(text, 0, 0, 't'), 'lacks the column time'),
        (
            lambda text: '\n'.join(text.splitlines()[:-1]) + '\n',
            'has 941 samples; the motion has 942',
        ),
        (lambda text: edited(text, 3, 0, '0.5'), 'time 0.5 s in sample 3'),
        (lambda text: edited(text, 4, 1, 'nan'), "'arm1_joint.effort' is not finite in sample 4"),
        (lambda text: text.replace('\n', ',0\n').replace('effort,0\n', 'effort,more\n', 1), 'more'),
    ],
)
def test_wrong_estimates_are_named(
    dataset: Path, tmp_path: Path, change: Callable[[str], str], told: str
) -> None:
    folder = estimates(tmp_path / 'mine', dataset, [CASE], 1.0)
    file = folder / f'{CASE.name}.csv'
    file.write_text(change(file.read_text()))
    with pytest.raises(DatasetError, match=told):
        score_dataset(read_manifest(dataset), [], 'described', [folder], Runner(1))


def test_what_is_no_folder_of_estimates_is_named(dataset: Path, tmp_path: Path) -> None:
    def scored(*folders: Path) -> Any:
        return score_dataset(read_manifest(dataset), [], 'described', folders, Runner(1))

    folder = tmp_path / 'mine'
    with pytest.raises(DatasetError, match='is no folder of estimates'):
        scored(folder)
    folder.mkdir()
    with pytest.raises(DatasetError, match=r'holds no CASE\.csv, such as'):
        scored(folder)
    (folder / 'delta_noise7_plain.csv').touch()
    with pytest.raises(DatasetError, match="'delta_noise7_plain'; valid are delta_noise0_plain"):
        scored(folder)
    twin = tmp_path / 'other' / 'mine'
    twin.mkdir(parents=True)
    for each in (folder, twin):
        shutil.rmtree(each)
        estimates(each, dataset, [CASE], 1.0)
    with pytest.raises(DatasetError, match='two estimates have one name'):
        scored(folder, twin)
    with pytest.raises(EstimationError, match="unknown estimator 'best'"):
        score_dataset(read_manifest(dataset), ['best'], 'described', [], Runner(1))


def test_what_cannot_be_made_is_named(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match='exists already'):
        made(dataset, SMALLEST)
    new = tmp_path / 'new'
    with pytest.raises(DatasetError, match="unknown format 'mat'; valid are bag, csv, npz"):
        made(new, replace(SMALLEST, formats=('mat',)))
    with pytest.raises(DescriptionError, match='detla'):
        made(new, replace(SMALLEST, robots=('detla',)))
    with pytest.raises(DatasetError, match='each once'):
        replace(SMALLEST, noise=(1.0, 1.0))
    assert not new.exists()
    with pytest.raises(DatasetError, match='is no dataset'):
        read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text('{"form": "another"}')
    with pytest.raises(DatasetError, match="is of the form 'another'"):
        read_manifest(tmp_path)
    found = json.loads((dataset / MANIFEST).read_text())
    found['options']['noise'].append(7.0)
    (tmp_path / MANIFEST).write_text(json.dumps(found))
    with pytest.raises(DatasetError, match='delta_noise7_plain'):
        read_manifest(tmp_path)
    (tmp_path / MANIFEST).write_text('[1')
    with pytest.raises(DatasetError, match='is no manifest'):
        read_manifest(tmp_path)


def test_an_ended_run_goes_on_and_leaves_nothing_half_written(
    tmp_path: Path, dataset: Path
) -> None:
    folder = tmp_path / 'data'

    class Ended(Exception):
        """What ends a run."""

    def tell(text: str, fraction: float | None = None, *_: float) -> None:
        if fraction is not None and 0.0 < fraction < 1.0:
            raise Ended

    with pytest.raises(Ended):
        make_dataset(folder, SMALLEST, lambda kept: Runner(1, tell, kept))
    kept = tmp_path / 'data.runs'
    assert not folder.exists() and len(list(kept.glob('part_*.json'))) == 1
    half = kept / 'files' / 'recordings' / CASE.name / 'train.csv'  # of a part that was not done
    half.parent.mkdir(parents=True)
    half.write_text('time,ar')
    with pytest.raises(OutputError, match='holds runs with other options'):
        made(folder, replace(SMALLEST, seed=5))
    untouched = (kept / 'files' / 'motions' / 'delta.csv').stat().st_mtime_ns
    found = made(folder, SMALLEST)
    assert (folder / 'motions' / 'delta.csv').stat().st_mtime_ns == untouched
    assert not kept.exists()
    whole = read_manifest(dataset).contents
    assert {p: e for p, e in found.contents.items() if p != 'README.md'}.items() <= whole.items()
    assert not check_dataset(folder, Runner(1))['damaged']


def test_the_verbs_make_check_and_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, scores = tmp_path / 'data', tmp_path / 'scores.json'
    words = ['--robots', 'delta', '--noise', '1', '--periods', '2', '--seed', '3', '--workers', '1']
    assert cli.main(['dataset', 'make', str(folder), *words, '--formats', 'npz', 'csv']) == 0
    assert 'delta' in capsys.readouterr().out
    assert read_manifest(folder).options == replace(SMALLEST, formats=('npz', 'csv'))
    assert cli.main(['dataset', 'check', str(folder), '--workers', '1']) == 0
    assert 'bit-equal' in capsys.readouterr().out
    words = ['--estimators', 'nominal', 'ls', '--workers', '1', '--output', str(scores)]
    assert cli.main(['dataset', 'score', str(folder), *words]) == 0
    told = capsys.readouterr().out
    assert 'without effects' in told and 'nominal' in told
    assert {row['estimator'] for row in json.loads(scores.read_text())['rows']} == {'nominal', 'ls'}
    shutil.rmtree(folder / 'truth')
    assert cli.main(['dataset', 'score', str(folder), '--estimators', 'ls']) == 1
    assert 'truth' in capsys.readouterr().err
