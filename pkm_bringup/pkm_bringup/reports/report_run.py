"""What a report is made of: the files of a run, read, and everything that follows from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pkm_bringup.inputs import load_mechanism
from pkm_bringup.reports.run_files import ReportError, RunFiles
from pkm_bringup.views.tracking_view import TrackedRun, tracked_run
from pkm_description import library, loads
from pkm_description.errors import DatasetError, DescriptionError, PkmError, TrajectoryError
from pkm_description.untrusted.bounded_yaml import MAX_CHARACTERS
from pkm_description.untrusted.named_files import file_text
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.trajectories import Trajectory, trajectory_from_dict
from pkm_identification import IdentificationResult, Validation, load_result, validate
from pkm_identification.datasets import Recording
from pkm_identification.datasets.bags.bag_reader import matching, read_bag
from pkm_identification.datasets.bags.bag_recording import SIDECAR, URDF
from pkm_identification.datasets.portion import portion_of
from pkm_identification.excitation import ExcitationDesign
from pkm_identification.model_selection.identifiability import identifiability
from pkm_identification.requests.identify_request import Identified
from pkm_identification.requests.look_request import Look, look_at
from pkm_identification.result.provenance import description_path

UNNAMED = 'ROBOT'  # in commands: to be filled in
Tell = Callable[[str], object]


@dataclass(frozen=True)
class ReadRecording:
    """One recording of a run."""

    path: str
    look: Look
    of_model: bool  # the model was identified from samples of it
    tracked: TrackedRun | None = None  # where our controller's state is in it

    @property
    def name(self) -> str:
        """What it is called in the page."""
        return Path(self.path).name

    @property
    def data(self) -> Recording | None:
        """Its samples; None where they cannot be used."""
        return self.look.recording if self.look.refusal is None else None


@dataclass(frozen=True)
class Predicted:
    """Forces of a recording, predicted by the model of the run."""

    recording: ReadRecording
    validation: Validation


@dataclass(frozen=True)
class Run:
    """A run as a report tells it.

    Attributes
    ----------
    files
        What there is, and where.
    model
        The mechanism; None where nothing says which robot it is of.
    result
        Identified model, the newest of a folder.
    recordings
        All that could be read.
    fits, predictions
        Forces of the recordings that the model was identified from, and of the others.
    design
        Design of the excitation, where its file is in the run.
    validations
        Paths and contents of files of `pkm validate --json`.
    left_out
        What could not be read or compared, and why.
    """

    files: RunFiles
    model: ClosedChainModel | None
    result: IdentificationResult | None = None
    recordings: tuple[ReadRecording, ...] = ()
    fits: tuple[Predicted, ...] = ()
    predictions: tuple[Predicted, ...] = ()
    design: ExcitationDesign | None = None
    validations: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in the page."""
        return Path(self.files.place).resolve().name or self.files.place

    @property
    def robot(self) -> str:
        """Name of the robot; '' where nothing says it."""
        return '' if self.model is None else self.model.description.name

    @property
    def robot_argument(self) -> str:
        """What names the robot in commands: a name of the library, else the path of a file."""
        if self.model is None:
            return UNNAMED
        path = description_path(self.model.description)
        return path or (self.robot if self.robot in library() else UNNAMED)

    @property
    def is_redundant(self) -> bool:
        """Whether it has redundant drives: nodes and `--friction auto` refuse them."""
        return self.model is not None and bool(self.model.description.followers)

    @cached_property
    def identified(self) -> Identified | None:
        """The model with what is known of its parameters."""
        if self.result is None:
            return None
        return Identified(self.result, identifiability(self.result, self.model))

    @property
    def excitation(self) -> Trajectory | None:
        """The motion that the model was identified from, else that of the design or recording."""
        if self.design is not None:
            return self.design.trajectory
        told = [] if self.result is None else list(self.result.provenance.recording)
        told += [_metadata(each) for each in self.recordings]
        return next((found for each in told if (found := _trajectory(each)) is not None), None)

    @property
    def tracked(self) -> list[list[TrackedRun]]:
        """Runs of one motion that the controller drove, in groups of two and more."""
        groups: dict[str, list[TrackedRun]] = {}
        for each in self.recordings:
            if each.tracked is not None:
                groups.setdefault(repr(_metadata(each).get('trajectory')), []).append(each.tracked)
        return [runs for runs in groups.values() if len(runs) > 1]


def read_run(
    files: RunFiles,
    robot: str = '',
    further: Sequence[str] = (),
    loading: Mapping[str, Any] | None = None,
    tell: Tell = lambda phase: None,
) -> Run:
    """Read what a run left, and predict the forces of its recordings.

    `further` are recordings beside those of the run, `robot` names the robot where the files do
    not. What of a folder cannot be read is told in `left_out`; a file that was named alone raises
    the error of its reader.
    """
    tell('the model')
    result = load_result(files.models[0]) if files.models else None
    own, paths, left_out = _sources(files, result, further)
    left_out += [f"'{path}' is an older model of the folder" for path in files.models[1:]]
    design = ExcitationDesign.load(files.designs[0]) if files.designs else None
    left_out += [f"'{path}' is a further design of the folder" for path in files.designs[1:]]
    model = _model(robot, result, design, (*own, *paths), tell)
    if result is not None and model is not None:
        result = result.with_model(model)
    recordings: list[ReadRecording] = []
    fits: list[Predicted] = []
    predictions: list[Predicted] = []
    for path in (*own, *paths):
        tell(f'reading {Path(path).name}')
        try:
            each = _read(path, model, result, loading or {})
        except PkmError as error:
            if path in further or (path in files.recordings and not files.is_folder):
                raise
            left_out.append(f'{Path(path).name}: {error}')
            continue
        recordings.append(each)
        if path in own and not each.of_model:
            left_out.append(f'{each.name} has changed since the identification')
        elif result is not None and model is not None and each.data is not None:
            tell(f'predicting the forces of {each.name}')
            try:
                found = Predicted(each, validate(each.data, result, model))
            except PkmError as error:
                left_out.append(f'{each.name}: {error}')
            else:
                (fits if each.of_model else predictions).append(found)
    return Run(
        files,
        model,
        result,
        tuple(recordings),
        tuple(fits),
        tuple(sorted(predictions, key=lambda each: -len(each.recording.look.recording or ()))),
        design,
        tuple((str(path), told) for path in files.validations if (told := _summary(path, files))),
        tuple(left_out),
    )


def _sources(
    files: RunFiles, result: IdentificationResult | None, further: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Return the recordings that the model is from, where they still lie, the others, and notes.

    Parts of a recording that the model is from stand in place of the whole one.
    """
    told = [] if result is None else [str(each.get('source', '')) for each in _data(result)]
    own = [source for source in told if source and portion_of(source).path.exists()]
    used = {portion_of(source).path.resolve() for source in own}
    paths = [path for path in files.recordings if portion_of(path).path.resolve() not in used]
    notes = [
        f"the recording '{source}' that the model is from is not where it was"
        for source in told
        if source not in own and not any(Path(source).name == Path(each).name for each in paths)
    ]
    return own, list(dict.fromkeys((*paths, *further))), notes


def _data(result: IdentificationResult) -> tuple[Mapping[str, Any], ...]:
    """What the model says of the files that it is from."""
    return result.provenance.data


def _model(
    robot: str,
    result: IdentificationResult | None,
    design: ExcitationDesign | None,
    recordings: Sequence[str],
    tell: Tell,
) -> ClosedChainModel | None:
    """Return the mechanism that the run is of; None where nothing names it."""
    if robot:
        return load_mechanism(robot, tell)
    if result is not None:
        try:
            return load_mechanism(result.path or result.robot, tell)
        except DescriptionError as error:  # moved: a recording may hold it
            found = next(filter(None, map(_recorded_model, recordings)), None)
            if found is not None and found.description.digest == result.digest:
                return found
            raise ReportError(
                f"the robot '{result.robot}' of the model cannot be loaded ({error}); --robot "
                'says where it is'
            ) from error
    if design is not None and design.trajectory.robot:
        return load_mechanism(design.trajectory.robot, tell)
    return next(filter(None, map(_recorded_model, recordings)), None)


def _recorded_model(path: str) -> ClosedChainModel | None:
    """Return the robot whose description a bag holds; what is wrong with it its reader tells."""
    place = portion_of(path).path
    if not _is_bag(place):
        return None
    with suppress(PkmError):
        bag = read_bag(place, [URDF, SIDECAR])
        urdf, sidecar = (
            bag.text(next(iter(matching(list(bag.topics), role)), None)) for role in (URDF, SIDECAR)
        )
        if urdf:
            return ClosedChainModel(loads(urdf, sidecar, f"'{path}'"))
    return None


def _read(
    path: str,
    model: ClosedChainModel | None,
    result: IdentificationResult | None,
    loading: Mapping[str, Any],
) -> ReadRecording:
    look = look_at(path, loading, model)
    if look.recording is None and look.refusal is not None:
        raise look.refusal
    of_model = result is not None and any(_overlaps(path, look, each) for each in _data(result))
    tracked = None
    if model is not None and _is_bag(portion_of(path).path):
        with suppress(DatasetError):  # of another controller: there is nothing to tell
            tracked = tracked_run(portion_of(path).path, model.actuated_joints, Path(path).name)
    return ReadRecording(path, look, of_model, tracked)


def _overlaps(path: str, look: Look, data: Mapping[str, Any]) -> bool:
    """Whether a recording holds samples of one that a model is from."""
    digest = data.get('sha256')
    if look.recording is None or not digest or look.recording.provenance.get('sha256') != digest:
        return False
    (begin, end), (first, last) = (portion_of(each).ends for each in (path, str(data['source'])))
    return max(begin, first) < min(end, last)


def _is_bag(path: Path) -> bool:
    return path.is_dir() or path.suffix in ('.mcap', '.db3')


def _metadata(recording: ReadRecording) -> Mapping[str, Any]:
    """What a recording says of itself."""
    data = recording.look.recording
    found = {} if data is None else data.provenance.get('metadata', {})
    return found if isinstance(found, Mapping) else {}


def _trajectory(told: Mapping[str, Any]) -> Trajectory | None:
    """Return the motion that a recording names, where it names one."""
    given = told.get('trajectory')
    if not isinstance(given, Mapping):
        return None
    try:
        return trajectory_from_dict(given)
    except TrajectoryError:
        return None


def _summary(path: Path, files: RunFiles) -> Mapping[str, Any]:
    """Return what `pkm validate --json` wrote; empty where a folder holds other JSON."""
    content = None
    with suppress(ValueError):
        content = json.loads(file_text(path, ReportError, MAX_CHARACTERS, 'validation'))
    if isinstance(content, dict) and 'against_measured' in content and 'joints' in content:
        return content
    if files.is_folder:
        return {}
    raise ReportError(f"'{path}' is not what `pkm validate --json` prints")
