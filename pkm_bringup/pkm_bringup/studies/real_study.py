"""Identification of real robots from their logs, as the first call does it.

Every estimator runs with its default options on the training recordings of each log, and is judged
on motions that it has not seen, against the same forces (see `real_logs`). Beside it stand `wls`
with the best of a grid of cutoffs, chosen on the test itself, which no user can do, and a plain
identification on Pinocchio's regressor.
"""

from __future__ import annotations

import signal
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.arguments import NATURAL
from pkm_bringup.runner import Runner
from pkm_bringup.studies.declaration import Study, seed
from pkm_bringup.studies.real_data.plain_reference import PlainReference
from pkm_bringup.studies.real_data.real_logs import EvenLog, ForceError, RealLog, logs_of
from pkm_description.errors import EstimationError, PkmError
from pkm_identification import IdentificationResult, identify, validate
from pkm_identification.arrays import Array
from pkm_identification.datasets import Recording
from pkm_identification.estimators.estimator_options import estimators, require_estimator
from pkm_identification.option import POSITIVE, TEXT, Option
from pkm_identification.options import SIGNALS, check_options, names, written_options
from pkm_identification.signals.signal_options import ESTIMATE

HINDSIGHT, REFERENCE = 'best cutoff in hindsight', 'plain reference'
LOWEST, HIGHEST = 1.0, 0.4  # [Hz], of the sampling rate: ends of the grid of cutoffs
CUTOFFS = 12
LEVEL = 0.95  # nominal share of the forces within their bounds
LEAST, MOST = 0.90, 0.98  # share within the bounds of that level that counts as honest


class Validated:
    """Predictions of an identified model; remembers which shares of forces its bounds held."""

    def __init__(
        self, log: RealLog, result: IdentificationResult, signals: Mapping[str, Any]
    ) -> None:
        self._log, self._result, self._signals = log, result, signals
        self.coverage: list[float] = []

    def __call__(self, recording: Recording) -> tuple[Array, Array, float | None]:
        """Return stamps of the forces, predicted ones, and the period where they are one of many.

        A motion is a delay ahead of the forces with its stamps.
        """
        found = validate(recording, self._result, self._log.model, level=LEVEL, **self._signals)
        delay = self._signals.get('delay', recording.effort_delay)
        coverage = found.coverage
        if coverage is not None and coverage.measured_overall is not None:
            self.coverage.append(coverage.measured_overall)
        return found.time - delay, found.predicted, found.period


def options_of_method(method: str) -> tuple[str, dict[str, Any]]:
    """Return estimator and options of a text such as `wls/cutoff=5`."""
    estimator, *pairs = method.split('/')
    require_estimator(estimator)
    named = [(name, value) for name, _, value in (pair.partition('=') for pair in pairs)]
    options = written_options(named)
    check_options((estimator,), options)
    return estimator, options


def identified(log: RealLog, estimator: str, **options: Any) -> dict[str, Any]:
    """Identify from a log and judge the model on its tests; signals of both are made alike."""
    begin = time.perf_counter()
    result = identify(log.train, log.model, estimator, **options)
    seconds = time.perf_counter() - begin
    signals = {name: value for name, value in options.items() if name in names(SIGNALS)}
    if signals.get('delay') == ESTIMATE:  # it is that of the drives, in the tests too
        found = [each.delay.value for each in result.diagnostics.data if each.delay is not None]
        signals['delay'] = float(np.mean(found))
    predict = Validated(log, result, signals)
    error = log.error(predict)
    coverage = float(np.mean(predict.coverage)) if predict.coverage else None
    return {**asdict(error), 'coverage': coverage, 'seconds': seconds}


def in_hindsight(log: RealLog, cutoffs: int) -> dict[str, Any]:
    """Return the errors over a grid of cutoffs, and the smallest."""
    rate = min(EvenLog.of(each.for_model(log.model)).rate for each in (*log.train, *log.test))
    tried, best = [], None
    for cutoff in np.geomspace(LOWEST, HIGHEST * rate, cutoffs):
        try:
            found = identified(log, 'wls', method='filter', cutoff=float(cutoff))
        except PkmError as error:
            tried.append({'cutoff': cutoff, 'refused': str(error)})
            continue
        tried.append({'cutoff': cutoff, 'overall': found['overall']})
        if best is None or found['overall'] < best['overall']:
            best = {**found, 'cutoff': float(cutoff)}
    if best is None:
        return {'refused': f'all {cutoffs} cutoffs: {tried[-1]["refused"]}', 'tried': tried}
    return {**best, 'tried': tried}


def referenced(log: RealLog) -> dict[str, Any]:
    """Judge the plain reference."""
    begin = time.perf_counter()
    plain = PlainReference(log)
    plain.fit(log.train)
    seconds = time.perf_counter() - begin
    error: ForceError = log.error(plain.predict)
    return {**asdict(error), 'coverage': None, 'seconds': seconds}


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise an EstimationError after so many seconds; only the main thread can be stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise EstimationError(f'stopped after {seconds:g} s (--limit)')

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def one_run(folder: str, cutoffs: int, limit: float, log: str, method: str) -> dict[str, Any]:
    """Return errors of a method on a log; `refused` has the sentence where it refuses."""
    special: dict[str, Callable[[RealLog], dict[str, Any]]] = {
        HINDSIGHT: partial(in_hindsight, cutoffs=cutoffs),
        REFERENCE: referenced,
    }
    if method in special:
        own = special[method]
    else:
        estimator, given = options_of_method(method)
        own = partial(identified, estimator=estimator, **given)
    row = {'log': log, 'name': method}
    shelf = RealLog(Path(folder) / log)
    try:
        shelf.compile()
        with at_most(limit):
            return row | own(shelf)
    except PkmError as error:
        return row | {'refused': str(error)}
    except Exception as error:  # a failure on one log must not hide the other rows
        return row | {'refused': f'FAILED with {type(error).__name__}: {error}'}


def summary(log: RealLog, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a log with what its errors are held against, and the rows with their ratio."""
    best = next(
        (row['overall'] for row in rows if row['name'] == HINDSIGHT and 'overall' in row), None
    )
    return {
        'log': log.name,
        'joints': list(log.model.actuated_joints),
        'rate': float(np.median([each.rate for each in log.even_tests])),
        'band': [each.band for each in log.even_tests],
        'rows': [
            {**row, 'ratio': row['overall'] / best if best and 'overall' in row else None}
            for row in rows
        ],
    }


def run(options: Namespace, runner: Runner) -> dict[str, Any]:
    """Run every method on every log."""
    folder = Path(options.folder)
    for method in options.estimators:
        options_of_method(method)  # refused before anything runs
    logs = logs_of(folder, options.log)
    methods = [*options.estimators, *([HINDSIGHT] if options.cutoffs else []), REFERENCE]
    cases = [{'log': log.name, 'method': method} for log in logs for method in methods]
    found = runner.map(partial(one_run, options.folder, options.cutoffs, options.limit), cases)
    by_log = [found[k : k + len(methods)] for k in range(0, len(found), len(methods))]
    return {'logs': [summary(*pair) for pair in zip(logs, by_log, strict=True)]}


STUDY = Study(
    'real',
    'logs of real robots: every estimator on motions that it has not seen',
    'relative RMS error of the predicted forces, share of them within their bounds, and time, '
    'beside the best cutoff in hindsight and a plain identification on the regressor of Pinocchio; '
    'scripts/real_logs/convert.py makes the folder.',
    (
        Option(
            'folder',
            TEXT,
            'folder of the logs: in each folder in it robot.urdf, train*.npz, test*.npz',
            flag='folder',
            metavar='FOLDER',
            required=True,
        ),
        Option('log', TEXT, 'names of the logs', [], otherwise='all', nargs='+', metavar='NAME'),
        Option(
            'estimators',
            TEXT,
            'to compare, each with options where wanted: wls, wls/method=filter/cutoff=5',
            list(estimators()),
            nargs='+',
            metavar='NAME[/OPTION=VALUE]',
        ),
        Option('cutoffs', NATURAL, 'tried in hindsight; 0: none', CUTOFFS, '1'),
        Option('limit', POSITIVE, 'longest time of an estimator on a log', 120.0, 's'),
        seed()[1],
    ),
    run,
)
