"""What an identification says of its data, its fit and its parameters, beside the estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from typing import Any, TypeVar

from pkm_identification.arrays import Array
from pkm_identification.result.drive_terms import DriveTermDiagnostics
from pkm_identification.result.fields import Fields, PlainMapping, plain
from pkm_identification.result.force_errors import ForceErrors

Own = TypeVar('Own')


class NoiseSource(str, Enum):
    """Where the noise of a run's rows is known from."""

    RESIDUALS = 'residuals'
    SPREAD = 'spread over periods'


class RecordedDescription(str, Enum):
    """Whether data carry the description that they are identified with."""

    NONE = 'none'
    SAME = 'same'
    ANOTHER = 'another'


@dataclass(frozen=True)
class Delay:
    """Time from a position to the effort of the same sample.

    Attributes
    ----------
    value, standard_deviation
        [s]. The covariance of an identification takes the value as exact: with motions of
        several harmonics its uncertainty makes those of the parameters some per cent larger.
    recorded
        What the recording says [s].
    """

    value: float
    standard_deviation: float
    recorded: float


@dataclass(frozen=True)
class RunFit:
    """Residuals of one run against the noise of its rows."""

    rows: int  # number of rows
    residual_correlation_time: float  # rows that carry the information of one
    noise_from: NoiseSource  # where the noise is known from
    # mean square of the whitened residuals per degree of freedom: 1 where noise explains them;
    # None where no spread over periods shows the noise
    residual_variance_ratio: float | None = None
    residual_variance_ratio_per_axis: Array | None = None  # (n_a,)


@dataclass(frozen=True)
class FitDiagnostics:
    """Residuals of all runs against their noise, and what the covariance rests on."""

    residual_correlation_time: float  # mean over the runs, by their rows; see `RunFit`
    covariance_scale: float  # median widening of the variances where the residuals exceed the noise
    covariance_rests_on: str  # in words
    noise_from: tuple[NoiseSource, ...]  # where the noise of the runs is known from
    # means over the runs whose noise is known; None where it is of none
    residual_variance_ratio: float | None = None
    residual_variance_ratio_per_axis: Array | None = None
    # degrees of freedom (r,) of the variances, where they rest on blocks of rows
    covariance_freedom: Array | None = None
    runs: tuple[RunFit, ...] = ()  # one a run, where there are several

    def to_mapping(self) -> dict[str, Any]:
        """Return the entries of a file."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        found['noise_from'] = ' and '.join(sorted(each.value for each in self.noise_from))
        return found if self.runs else {key: found[key] for key in found if key != 'runs'}

    @classmethod
    def from_fields(cls, given: Fields) -> FitDiagnostics:
        """Read what `to_mapping` gave; a ValueError names what is malformed."""
        sources = given.text('noise_from').split(' and ')
        return Fields({**given.content, 'noise_from': sources}, given.where).read(cls)


@dataclass(frozen=True)
class ResidualFindings:
    """Actuators whose residuals say that the model lacks something."""

    large: tuple[str, ...] = ()  # held-out residuals above a tenth of the forces
    coloured: tuple[str, ...] = ()  # no noise: their spectrum is not that of the noise


@dataclass(frozen=True)
class ConditionNumbers:
    """Condition numbers of the regressor."""

    # as the estimator weighs rows and columns, where it tells; else the weighted one
    condition_number: float
    condition_number_unscaled: float  # of the regressor as it is (SI units)
    condition_number_scaled: float  # with columns of unit length
    # of the rows whitened by their noise, with the prior's, columns of unit length
    condition_number_weighted: float


@dataclass(frozen=True)
class FixedContradiction:
    """A fixed parameter that the data want elsewhere."""

    name: str
    value: float  # that it was fixed at
    wanted: float  # that the residuals ask for, if it alone were free
    deviations: float  # from one to the other, in standard deviations


@dataclass(frozen=True)
class WantedFriction:
    """A parameter of the friction of a drive as the data want it without limits."""

    name: str
    value: float
    standard_deviation: float


@dataclass(frozen=True, kw_only=True)
class LimitDiagnostics:
    """What an estimator within limits tells of the estimate without them."""

    # where the data contradict the limits: friction that is negative tells a wrong sign
    wanted_friction: tuple[WantedFriction, ...] = ()


@dataclass(frozen=True)
class ParameterDiagnostics:
    """What became of the parameters, by name."""

    undetermined: tuple[str, ...] = ()  # infinite variance: the data do not determine them
    fixed: tuple[str, ...] = ()  # held at a value
    equations: int = 0  # number of scalar equations
    degrees_of_freedom: int = 0  # equations less the number of parameters
    left_out: tuple[str, ...] = ()  # that the model does without
    dropped: tuple[str, ...] = ()  # by a reduction
    contradicted: tuple[FixedContradiction, ...] = ()  # fixed ones, the worst first


@dataclass(frozen=True)
class DataDiagnostics:
    """What is known of one recording."""

    # whether it carries the description that it is identified with
    recorded_description: RecordedDescription = RecordedDescription.NONE
    signals: Mapping[str, Any] = field(default_factory=dict)  # how it was processed
    quality: Mapping[str, Any] | None = None  # what is wrong with which samples
    # relative standard deviations (n_a,) of the force constants, None for forces
    force_constant_deviation: Array | None = None
    delay: Delay | None = None  # where it was estimated
    # standard deviations (n_a,) of one sample that the spread over periods shows
    force_noise: Array | None = None
    force_noise_correlation: Array | None = None  # (n_a, n_a)
    position_noise: Array | None = None  # as `force_noise`


@dataclass(frozen=True, eq=False)
class Diagnostics(PlainMapping):
    """All that an identification tells beside the estimate.

    As a mapping it holds the same as plain values by key, as the model file does: figures of
    a recording are a list of them where there are several.
    """

    fit: FitDiagnostics | None = None  # None, as `condition`, where `identify` did not make it
    condition: ConditionNumbers | None = None
    force_errors: ForceErrors | None = None  # of predictions of other motions
    residual_findings: ResidualFindings = ResidualFindings()
    parameters: ParameterDiagnostics = ParameterDiagnostics()  # by what became of them
    data: tuple[DataDiagnostics, ...] = ()  # one a recording
    drive_terms: DriveTermDiagnostics = DriveTermDiagnostics()  # beyond those of the model
    is_physical: bool | None = None  # whether the estimate itself is physically consistent
    violations: tuple[str, ...] = ()  # what keeps it from it
    warnings: tuple[str, ...] = ()  # of data and estimate
    # what the estimator alone tells: its dataclass, or the entries of a file
    own: Any = field(default_factory=dict)

    def own_as(self, kind: type[Own]) -> Own:
        """Return what the estimator alone tells as its dataclass, also after loading.

        A `ValueError` where they are those of another estimator.
        """
        if isinstance(self.own, kind):
            return self.own
        return Fields(_entries(self.own), 'diagnostics').read(kind)

    @cached_property
    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = {}
        if self.fit is not None:
            content |= self.fit.to_mapping()
        content |= _entries(self.condition or {}) | _entries(self.parameters)
        for name in ('dropped', 'contradicted'):
            if not content[name]:
                del content[name]
        content |= {key: value for key, value in _entries(self.drive_terms).items() if value}
        for each in fields(DataDiagnostics):
            values = [getattr(entry, each.name) for entry in self.data]
            if each.name != 'delay' or any(value is not None for value in values):
                content[each.name] = values[0] if len(values) == 1 else values
        content |= {name: getattr(self, name) for name in ('is_physical', 'violations', 'warnings')}
        if self.force_errors is not None:
            content['force_errors'] = self.force_errors
            content['residual_findings'] = self.residual_findings
        found: dict[str, Any] = plain(content | _entries(self.own))
        return found

    @classmethod
    def from_mapping(cls, content: Any, where: str = 'diagnostics') -> Diagnostics:
        """Read plain entries, of a model file say; a ValueError names what is malformed."""
        given = Fields(content, where)
        parts = (
            *(FitDiagnostics, ConditionNumbers, ParameterDiagnostics),
            *(DataDiagnostics, DriveTermDiagnostics),
        )
        known = {each.name for part in parts for each in fields(part)}
        known |= {each.name for each in fields(cls)}
        return cls(
            fit=FitDiagnostics.from_fields(given) if 'covariance_scale' in given else None,
            condition=given.read(ConditionNumbers)
            if 'condition_number_weighted' in given
            else None,
            force_errors=_read_force_errors(given.mapping('force_errors'))
            if 'force_errors' in given
            else None,
            residual_findings=given.mapping('residual_findings').read(ResidualFindings)
            if 'residual_findings' in given
            else ResidualFindings(),
            parameters=given.read(ParameterDiagnostics),
            data=_read_data(given),
            drive_terms=given.read(DriveTermDiagnostics),
            is_physical=given.flag('is_physical') if 'is_physical' in given else None,
            violations=tuple(given.texts('violations')) if 'violations' in given else (),
            warnings=tuple(given.texts('warnings')) if 'warnings' in given else (),
            own={key: given.content[key] for key in given.content if key not in known},
        )


def _read_force_errors(given: Fields) -> ForceErrors:
    """Errors of predicted forces; files before drives at rest had others under the same names."""
    if 'holding' not in given:
        raise ValueError(
            f"'{given.where}' was written by an earlier release, whose errors of forces have other "
            'terms: identify again'
        )
    return given.read(ForceErrors)


def _read_data(given: Fields) -> tuple[DataDiagnostics, ...]:
    """Entries of each recording; `signals` tells how many there are."""
    if 'signals' not in given:
        return ()
    keys = [each.name for each in fields(DataDiagnostics) if each.name in given]
    if not isinstance(given.get('signals'), list):
        return (given.read(DataDiagnostics),)
    count = len(given.get('signals'))
    for key in keys:
        if not isinstance(given.get(key), list) or len(given.get(key)) != count:
            raise ValueError(f"'{given.path(key)}' must have {count} entries")
    return tuple(
        Fields({key: given.get(key)[number] for key in keys}, given.where).read(DataDiagnostics)
        for number in range(count)
    )


def _entries(value: Any) -> dict[str, Any]:
    """Fields of a dataclass, or entries of a mapping."""
    if isinstance(value, Mapping):
        return dict(value)
    return {each.name: getattr(value, each.name) for each in fields(value)}
