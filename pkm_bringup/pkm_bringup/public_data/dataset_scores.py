"""Scores of estimators, and of forces that others predict, on a dataset."""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from pkm_bringup.public_data.dataset_cases import TRAIN, WITH, WITHOUT, Case
from pkm_bringup.public_data.dataset_contents import FORCES, MOTION, Content
from pkm_bringup.public_data.dataset_files import read_table, recording_of
from pkm_bringup.public_data.dataset_manifest import RECORDINGS, Manifest
from pkm_bringup.public_data.dataset_recordings import MOTIONS, ROBOT_FILES, TRUTH
from pkm_bringup.public_data.foreign_forces import foreign_files, foreign_forces
from pkm_bringup.runner import Runner
from pkm_bringup.studies.runs.plants import model_of
from pkm_description.errors import DatasetError, PkmError
from pkm_dynamics import ClosedChainModel, PlatformMotion
from pkm_identification import IdentificationResult, identify
from pkm_identification.arrays import Array
from pkm_identification.estimators.estimator_options import require_estimator
from pkm_identification.validation.figures import compare, parameter_error

NOMINAL = 'nominal'  # no estimate: the description's numbers
LEVEL = 0.95  # of the bounds whose coverage is counted
WIDTH = float(stats.norm.ppf(0.5 * (1.0 + LEVEL)))  # half of them, in standard deviations
SMALLEST = 1e-12  # error that ranks: a logarithm is taken

Row = dict[str, Any]


def score_dataset(
    manifest: Manifest,
    estimators: Sequence[str],
    friction: str,
    foreign: Sequence[Path],
    runner: Runner,
) -> dict[str, Any]:
    """Score estimators with default options (NOMINAL: the description), and folders of forces.

    `rows` has each case of each estimator, `summary` the figures over the robots (`summarised`),
    the best first. What an estimator refuses stands as `error` in its row. DatasetError where files
    of the dataset or of the estimates are missing or wrong.
    """
    for name in estimators:
        if name != NOMINAL:
            require_estimator(name)
    others = {folder.name: foreign_files(folder, manifest.cases) for folder in foreign}
    doubled = sorted(set(others) & set(estimators))
    if doubled or len(others) < len(foreign):
        raise DatasetError(f'two estimates have one name: {doubled or [str(f) for f in foreign]}')
    for case in manifest.cases:
        read_truth(manifest.folder, case)
    rows: list[Row] = []
    for name, files in others.items():
        rows += [foreign_row(manifest, name, case, files.get(case.name)) for case in manifest.cases]
    runs = [
        {'estimator': name, **case.to_dict()}
        for case in manifest.cases
        for name in dict.fromkeys(estimators)
    ]
    periods = {case.name: manifest.period_of(case) for case in manifest.cases}
    one = partial(estimator_row, str(manifest.folder), periods, friction)
    rows += runner.map(one, runs, 'estimate', 'estimate')
    return {'level': LEVEL, 'friction': friction, 'summary': summarised(rows), 'rows': rows}


def read_truth(folder: Path, case: Case) -> Content:
    """Return noise-free forces of the test motion of a case."""
    return read_table(folder / TRUTH / f'{case.robot}_{case.condition}.csv', FORCES)


@lru_cache(maxsize=2)
def _robot(folder: Path, robot: str) -> tuple[ClosedChainModel, PlatformMotion, dict[str, float]]:
    """Described model, test motion and true parameters by name."""
    model = model_of(str(folder / ROBOT_FILES / robot / f'{robot}.urdf'))
    signals = read_table(folder / MOTIONS / f'{robot}.csv', MOTION).signals
    motion = model.motion_from_actuators(*(signals[kind] for kind in MOTION if kind != 'time'))
    path = folder / TRUTH / f'{robot}_parameters.csv'
    try:
        with path.open(encoding='utf-8', newline='') as file:
            true = {row['name']: float(row['value']) for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        raise DatasetError(f"'{path}' holds no true parameters: {error}") from error
    return model, motion, true


def estimator_row(
    folder: str, periods: Mapping[str, float], friction: str, estimator: str, **case: Any
) -> Row:
    """Estimate from one case and judge the estimate."""
    one = Case(**case)
    row = _row(estimator, one)
    model, motion, true = _robot(Path(folder), one.robot)
    truth = read_truth(Path(folder), one).signals['effort']
    if estimator == NOMINAL:
        return row | force_figures(model.inverse_dynamics(motion), truth)
    data = recording_of(Path(folder), f'{RECORDINGS}/{one.name}/{TRAIN}')
    data = replace(data, period=periods[one.name])
    begin = time.process_time()
    try:
        result = identify(data, model, estimator, friction=friction)
    except PkmError as error:
        return row | {'error': str(error)}
    row['seconds'] = time.process_time() - begin
    forces, deviation = result.predict(motion, standard_deviation=True)
    row |= force_figures(forces, truth)
    row['forces_within'] = float(np.mean(np.abs(forces - truth) <= WIDTH * deviation))
    return row | _parameter_figures(result, true)


def foreign_row(manifest: Manifest, name: str, case: Case, file: Path | None) -> Row:
    """Judge forces of somebody else."""
    if file is None:
        return _row(name, case) | {'error': f'no {case.name}.csv'}
    truth = read_truth(manifest.folder, case)
    forces = foreign_forces(file, truth)
    return _row(name, case) | force_figures(forces.signals['effort'], truth.signals['effort'])


def force_figures(forces: Array, truth: Array) -> Row:
    """Errors of forces (n, n_a): sum |error| / sum |true - mean| [M 33], and RMS over RMS."""
    found = compare(forces, truth)
    return {'force_error': found.overall, 'relative_rms': found.relative_rms}


def _row(estimator: str, case: Case) -> Row:
    return {'estimator': estimator, 'case': case.name, **case.to_dict()}


def _parameter_figures(result: IdentificationResult, true: Mapping[str, float]) -> Row:
    """Errors of the base parameters, in reported standard deviations and relative to the truth.

    `deviations` is their root mean square, which is 1 where the reported ones are right.
    """
    truth = [true.get(name, float('nan')) for name in result.parameter_names]
    error = parameter_error(result, truth)
    known = error.deviations[np.isfinite(error.deviations)]
    return {
        'parameters': len(known),
        'parameters_within': int(np.count_nonzero(np.abs(known) <= WIDTH)),
        'deviations': float(np.sqrt(np.mean(known**2))) if len(known) else None,
        'relative_error': error.median,
    }


def summarised(rows: Sequence[Row]) -> list[Row]:
    """Return figures over the robots of each estimator, without and with effects, the best first.

    `force_errors` are medians by level of noise; the mean of the logarithms of those with noise
    ranks, those that lack a case behind the others. `deviations` (median), `parameters_within` and
    `forces_within` (shares) are of the cases with noise, too.
    """
    found = []
    for effects in sorted({row['effects'] for row in rows}):
        names = dict.fromkeys(row['estimator'] for row in rows)
        each = [
            _summary(name, [r for r in rows if (r['estimator'], r['effects']) == (name, effects)])
            for name in names
        ]
        found += sorted(each, key=lambda row: (row['scored'] < row['cases'], row['rank']))
    return found


def _summary(name: str, rows: Sequence[Row]) -> Row:
    scored = [row for row in rows if 'error' not in row]
    noisy = [row for row in scored if row['noise'] > 0 and row.get('parameters')]
    levels = sorted({row['noise'] for row in rows})
    errors = {
        f'{level:g}': _median([row['force_error'] for row in scored if row['noise'] == level])
        for level in levels
    }
    # without noise errors differ by powers of ten that no machine shows
    levels = [level for level in levels if level > 0] or levels
    known = [errors[f'{level:g}'] for level in levels]
    ranked = [max(error, SMALLEST) for error in known if error is not None]
    total = sum(row['parameters'] for row in noisy)
    return {
        'estimator': name,
        'condition': WITH if rows[0]['effects'] else WITHOUT,
        'effects': rows[0]['effects'],
        'cases': len(rows),
        'scored': len(scored),
        'force_errors': errors,
        'rank': float(np.mean(np.log(ranked))) if ranked else float('inf'),
        'deviations': _median([row['deviations'] for row in noisy]),
        'parameters_within': sum(r['parameters_within'] for r in noisy) / total if total else None,
        'forces_within': float(np.mean([r['forces_within'] for r in noisy])) if noisy else None,
        'relative_error': _median([row['relative_error'] for row in noisy]),
        'seconds': _median([row['seconds'] for row in scored if 'seconds' in row]),
        'errors': sorted({row['error'] for row in rows if 'error' in row}),
    }


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None
