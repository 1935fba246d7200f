"""Follow a robot over a folder of recordings: what changed, since when, how sure."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description.errors import DatasetError, EstimationError, PkmError
from pkm_description.untrusted.named_files import allowed
from pkm_dynamics import ClosedChainModel
from pkm_identification.arrays import Array
from pkm_identification.datasets import load
from pkm_identification.monitoring.causes import Cause, causes_of
from pkm_identification.monitoring.change_search import LEAST_REFERENCE, Search, spreads_of
from pkm_identification.monitoring.contrast import Evidence
from pkm_identification.monitoring.findings import Findings, findings
from pkm_identification.monitoring.model_evidence import (
    model_evidence,
    require_linear,
    watched_values,
)
from pkm_identification.monitoring.observation import observe, reference_values
from pkm_identification.monitoring.watched_parameters import WatchedParameters
from pkm_identification.options import SIGNALS, require_known
from pkm_identification.requests.identify_request import Progress, given
from pkm_identification.requests.refusal import Code, Refused, refusing
from pkm_identification.requests.validate_request import load_model_file
from pkm_identification.result.result import IdentificationResult
from pkm_identification.signals import SignalOptions

TABLES, BAGS = ('.csv', '.npz'), ('.mcap', '.db3')
REFERENCES = 10  # recordings at the beginning that the others are compared with, if there are twice
FALSE_ALARMS = 0.01  # chance of any alarm in a healthy series
START = 5  # recordings that the reference values come from: more make no difference
PHASES = {'look': 'looking', 'reference_of': 'reference values', 'observed': 'identifying'}
CREATED, FILE = 'created', 'file'  # where the time of a recording is known from
RECORDING = 'recording'  # what is compared, in words

Look = Mapping[str, Any]
Run = Callable[[str, Sequence[Mapping[str, Any]]], list[Any]]


@dataclass(frozen=True)
class MonitorRequest:
    """Which folder to look at; `Refused` with BAD_OPTION or BAD_DATA.

    `references` is the number of recordings at the beginning that the others are compared with;
    None: ten, or half of them where there are fewer than twenty. With a model file all are compared
    with that model, all that it holds, and `references` tell how far recordings scatter. `options`
    are those of the signals.
    """

    folder: str
    references: int | None = None
    false_alarms: float = FALSE_ALARMS
    model_file: str = ''
    options: Mapping[str, Any] = field(default_factory=dict)
    loading: Mapping[str, Any] = field(default_factory=dict)  # options of `load`

    def __post_init__(self) -> None:
        """Check the options."""
        with refusing(Code.BAD_OPTION):
            require_known('of monitor', given(self.options), {each.name: each for each in SIGNALS})
            if self.references is not None and self.references < LEAST_REFERENCE:
                raise EstimationError(
                    f'references: {LEAST_REFERENCE} recordings at least, not {self.references}'
                )
            if not 0.0 < self.false_alarms < 1.0:
                raise EstimationError(
                    f'false_alarms must lie between 0 and 1, got {self.false_alarms}'
                )


@dataclass(frozen=True)
class LeftOut:
    """A recording that is not used."""

    name: str
    reason: str


@dataclass(frozen=True)
class Monitored:
    """A robot over its recordings."""

    robot: str
    names: tuple[str, ...]  # of the recordings in order of time, those of the reference first
    times: tuple[str, ...]  # of each, ISO 8601
    by_file_time: int  # recordings whose time is that of their file
    references: int  # at the beginning that the others are compared with; 0: with the model
    model_file: str  # that all are compared with; empty: with the references
    false_alarms: float
    left_out: tuple[LeftOut, ...]
    residual_rms: Array  # (n, n_a) [N, N m]
    joint_names: tuple[str, ...]
    findings: Findings
    compared: str = RECORDING  # what one of `names` is


def recordings_in(folder: str | Path) -> list[Path]:
    """Paths of the recordings in a folder; `DatasetError` where there is none."""
    folder = allowed(folder, DatasetError)
    if not folder.is_dir():
        raise DatasetError(f"'{folder}' is not a folder of recordings")
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith('.'):
            continue
        if path.is_dir():
            if any(each.suffix in BAGS or each.name == 'metadata.yaml' for each in path.iterdir()):
                found.append(path)
        elif path.suffix in (*TABLES, *BAGS):
            found.append(path)
    if not found:
        raise DatasetError(
            f"'{folder}' holds no recordings: bags (folders, .mcap, .db3), .csv or .npz files"
        )
    if (
        all(path.is_file() and path.suffix in BAGS for path in found)
        and (folder / 'metadata.yaml').exists()
    ):
        raise DatasetError(f"'{folder}' is one bag; a folder of several is needed")
    return found


def look(path: str, model: ClosedChainModel, loading: Mapping[str, Any]) -> dict[str, Any]:
    """When a recording was made, or why it cannot be used."""
    try:
        recording = load(path, truth=False, **loading)
        metadata = recording.provenance.get('metadata') or {}
        robot = metadata.get('robot') if isinstance(metadata, Mapping) else None
        if robot not in (None, model.description.name):
            raise DatasetError(f"it is of robot '{robot}', not of '{model.description.name}'")
        recording.for_model(model)
        when, source = _time_of(metadata), CREATED
        if when is None:
            when, source = Path(path).stat().st_mtime, FILE
        return {'time': when, 'source': source, 'refusal': ''}
    except (PkmError, OSError) as error:
        return {'time': 0.0, 'source': FILE, 'refusal': _short(error, path)}


def _time_of(metadata: Any) -> float | None:
    """Time of a recording by its metadata [s since 1970]; None where they do not tell."""
    text = metadata.get('created') if isinstance(metadata, Mapping) else None
    if isinstance(text, datetime):
        return text.timestamp()
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None


def _short(error: Exception, path: str) -> str:
    """Return a reason in one line, without the path."""
    return ' '.join(str(error).split('\n\n')[0].split()).replace(f"'{path}': ", '')


def encoded(array: Array) -> str:
    """Return an array as text."""
    return base64.b64encode(np.ascontiguousarray(array, dtype='<f8').tobytes()).decode()


def decoded(text: str, *shape: int) -> Array:
    """Return what `encoded` made of an array of this shape."""
    return np.frombuffer(base64.b64decode(text), dtype='<f8').reshape(shape).astype(float)


def observed(
    path: str,
    model: ClosedChainModel,
    values: str,
    options: Mapping[str, Any],
    loading: Mapping[str, Any],
) -> dict[str, Any]:
    """What a recording tells, as texts; `values` are the `encoded` reference values."""
    watched = WatchedParameters.of(model, decoded(values, -1))
    try:
        recording = load(path, truth=False, **loading)
        found = observe(recording, watched, SignalOptions(**options))
    except (PkmError, OSError) as error:
        return {'refusal': _short(error, path)}
    names = ('information', 'score', 'spread', 'residual_rms', 'speed')
    return {'refusal': '', **{name: encoded(getattr(found, name)) for name in names}}


def reference_of(
    paths: Sequence[str],
    model: ClosedChainModel,
    options: Mapping[str, Any],
    loading: Mapping[str, Any],
) -> dict[str, str]:
    """Reference values of some recordings, `encoded`, or what the last one is refused with."""
    recordings, refusal = [], 'there is no recording'
    for path in paths:
        try:
            recording = load(path, truth=False, **loading)
            reference_values([recording], model, SignalOptions(**options))
            recordings.append(recording)
        except (PkmError, OSError) as error:
            refusal = str(error)
    if not recordings:
        return {'refusal': refusal}
    values = reference_values(recordings, model, SignalOptions(**options))
    return {'refusal': '', 'values': encoded(values)}


def monitor(
    request: MonitorRequest,
    model: ClosedChainModel,
    run: Run | None = None,
    progress: Progress | None = None,
) -> Monitored:
    """Look at all recordings of a folder in the order of their time.

    `run` calls `look`, `reference_of` or `observed` (by name) for several cases; by default one
    after the other.
    `Refused`: BAD_DATA, BAD_MODEL, WRONG_ROBOT or ESTIMATION_FAILED.
    """
    report = progress or (lambda phase, fraction: None)
    options, values, result = given(request.options), '', None
    if request.model_file:
        result = load_model_file(request.model_file, model)
        with refusing(Code.BAD_MODEL):
            require_linear(result)
        model, values = result.model, encoded(watched_values(result))
    run = run or _in_turn(model, report)
    with refusing(Code.ESTIMATION_FAILED, data=Code.BAD_DATA):
        paths = [str(path) for path in recordings_in(request.folder)]
        looks = run('look', [{'path': path, 'loading': request.loading} for path in paths])
        bad = [LeftOut(Path(p).name, x['refusal']) for p, x in zip(paths, looks, strict=True)
               if x['refusal']]  # fmt: skip
        good = sorted(
            ((x['time'], path, x['source']) for path, x in zip(paths, looks, strict=True)
             if not x['refusal'])
        )  # fmt: skip
        _require(good, bad, request)
        if not values:
            first = [path for _, path, _ in good[:START]]
            settings = {'options': options, 'loading': request.loading}
            (answer,) = run('reference_of', [{'paths': first, **settings}])
            if answer['refusal']:
                raise DatasetError(answer['refusal'])
            values = answer['values']
        case = {'values': values, 'options': options, 'loading': request.loading}
        answers = run('observed', [{'path': path, **case} for _, path, _ in good])
        watched = WatchedParameters.of(model, decoded(values, -1))
        told = []
        for entry, answer in zip(good, answers, strict=True):
            if answer['refusal']:
                bad.append(LeftOut(Path(entry[1]).name, answer['refusal']))
            else:
                told.append(Told.of(*entry, answer, len(watched.names)))
        answers.clear()  # as texts they take more memory than all else
        _require(told, bad, request)
        return judged(request, watched, causes_of(watched), result, told, bad, report)


def _require(good: Sequence[Any], bad: Sequence[LeftOut], request: MonitorRequest) -> None:
    """Refuse a folder with too few recordings."""
    least = (request.references or LEAST_REFERENCE) + (not request.model_file)
    if len(good) >= least:
        return
    why = f"; '{bad[0].name}' is left out: {bad[0].reason}" if bad else ''
    raise Refused(
        Code.BAD_DATA,
        f"'{request.folder}' holds {len(good)} recordings that can be used, and {len(bad)} "
        f'others; {least} are needed: {least - 1} as reference and one to compare{why}',
    )


@dataclass(frozen=True)
class Told:
    """What one recording tells."""

    time: float  # [s since 1970]
    path: str
    source: str  # where the time is known from
    evidence: Evidence
    residual_rms: Array
    speed: Array

    @classmethod
    def of(cls, time: float, path: str, source: str, answer: Mapping[str, Any], size: int) -> Told:
        """Read the texts of `observed`, of `size` watched parameters."""
        evidence = Evidence(
            decoded(answer['information'], size, size),
            decoded(answer['score'], size),
            decoded(answer['spread'], size, size),
        )
        rest = (decoded(answer[name], -1) for name in ('residual_rms', 'speed'))
        return cls(time, path, source, evidence, *rest)


def judged(
    request: MonitorRequest,
    watched: WatchedParameters,
    causes: Sequence[Cause],
    result: IdentificationResult | None,
    told: Sequence[Told],
    bad: Sequence[LeftOut],
    report: Progress,
    compared: str = RECORDING,
) -> Monitored:
    """Search what recordings or readings tell of some causes; `compared` says which they are."""
    evidences = [each.evidence for each in told]
    count = request.references or min(REFERENCES, max(LEAST_REFERENCE, len(told) // 2))
    references, series = evidences[:count], evidences[count:]
    spreads = spreads_of(causes, references)
    reference = Evidence.of(references)
    if result is not None:
        reference = model_evidence(result, watched, reference)
        references, series = [], evidences
    search = Search(causes, reference, spreads, request.false_alarms)
    speeds = np.mean([each.speed for each in told[:count]], axis=0)
    found = findings(
        search, watched, references, series, speeds, lambda part: report('searching', part)
    )
    times = (datetime.fromtimestamp(each.time, timezone.utc) for each in told)
    return Monitored(
        watched.model.description.name,
        tuple(Path(each.path).name for each in told),
        tuple(time.isoformat(timespec='seconds') for time in times),
        sum(each.source == FILE for each in told),
        len(references),
        request.model_file,
        request.false_alarms,
        tuple(bad),
        np.array([each.residual_rms for each in told]),
        tuple(watched.model.actuated_joints),
        found,
        compared,
    )


def _in_turn(model: ClosedChainModel, report: Progress) -> Run:
    """Calls one after the other."""
    functions: dict[str, Callable[..., Any]] = {
        'look': look, 'reference_of': reference_of, 'observed': observed
    }  # fmt: skip

    def run(name: str, cases: Sequence[Mapping[str, Any]]) -> list[Any]:
        answers = []
        for number, case in enumerate(cases):
            report(PHASES[name], number / len(cases))
            answers.append(functions[name](model=model, **case))
        return answers

    return run
