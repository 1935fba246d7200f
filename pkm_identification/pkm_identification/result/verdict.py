"""How good a model is, what limits it and what to do, from what its identification found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from pkm_dynamics.friction_laws import LINEAR
from pkm_identification.arrays import Array
from pkm_identification.percent import percent
from pkm_identification.physical.nearest import LEAST_P_VALUE
from pkm_identification.quality.report import Defect, doubts
from pkm_identification.result.diagnostics import Diagnostics, LimitDiagnostics
from pkm_identification.result.force_errors import ForceErrors
from pkm_identification.result.result import IdentificationResult

GOOD, USABLE = (
    0.03,
    0.1,
)  # relative RMS error: feedforward leaves that share of the force to feedback
NEGLIGIBLE = 0.005  # an error that no effect is looked for behind, though noise does not explain it
LARGE_RATIO = 2.0  # of the residuals' variance to that of the noise: more of it is not noise
MUCH_BIAS = 0.3  # of the error, that noise of the motion makes of it
MANY_BAD = 0.5  # share of the samples: fewer that are left out hardly limit a model
DOUBT = 4.0  # standard deviations
DRIVEN = 0.1  # of the force: sensors behind the friction may show some of either sign
# Of the directions of the parameters: when one in three is told by one held-out part alone, errors
# of these parts are no longer those of predictions by all parameters
UNTESTED = 1 / 3
FEW_PROPER = 0.5  # share of the parameters that are undetermined


class Grade(str, Enum):
    """How much of the force a model predicts."""

    GOOD = 'good'
    USABLE = 'usable'
    POOR = 'poor'
    UNPROVEN = 'unproven'  # whatever it predicts: of other motions the data tell too little
    DOUBTFUL = 'doubtful'  # whatever it predicts: the data cannot be right

    @classmethod
    def of(cls, error: float) -> Grade:
        """Grade of a relative RMS error, noise of the measured forces left out of it."""
        if error > USABLE:
            return cls.POOR
        return cls.GOOD if error <= GOOD else cls.USABLE


class Limit(str, Enum):
    """What makes most of the error of the predicted forces."""

    MISSING_EFFECT = 'an effect that the model lacks'
    NOISE_OF_FORCES = 'noise of the measured forces'
    NOISE_OF_MOTION = 'noise of the measured motion'
    EXCITATION = 'a motion that does not show all parameters'
    SIGNS = 'a wrong sign in the data'
    DATA = 'bad samples'
    WRONG_DATA = 'data that cannot be right'
    NOTHING = 'nothing that a controller would feel'
    UNKNOWN = 'unknown causes'


class Named(str, Enum):
    """What reasons and advice name of the diagnostics, so that nobody needs to say it again."""

    COLOURED = 'coloured residuals'
    TERM = 'term that the residuals ask for'


TOGETHER = 'excite all axes together (pkm excite design)'
LONGER = 'record longer, or several motions'


@dataclass(frozen=True)
class Verdict:
    """Verdict on an identified model.

    Attributes
    ----------
    grade
        By the error.
    error
        Relative RMS error of the forces of parts of the data that the estimate was not made from,
        over all axes.
    noise
        Part of that which is noise of the measured forces; None where it is unknown.
    axis_errors
        `error` of each actuator (n_a,).
    worst
        Joint with the largest of these.
    limit
        What limits the model.
    reasons
        Sentences: what shows that.
    advice
        Sentences: what to do.
    named
        What these sentences name of the diagnostics.
    doubts
        What cannot be right in the data, or why they do not suffice to judge.
    """

    grade: Grade
    error: float
    noise: float | None
    axis_errors: Array
    worst: str
    limit: Limit
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    named: frozenset[Named] = frozenset()
    doubts: tuple[str, ...] = ()

    @property
    def model_error(self) -> float:
        """Error without the noise of the measured forces, as far as that is known."""
        return float(np.sqrt(max(self.error**2 - (self.noise or 0.0) ** 2, 0.0)))

    @property
    def finding(self) -> str:
        """How far predicted forces are off, in one sentence."""
        worst = float(self.axis_errors.max())
        text = f'forces of held-out parts of the data are predicted within {percent(self.error)} '
        text += f'(RMS; worst {self.worst}: {percent(worst)})'
        if self.noise is not None:
            text += f', noise of the measurement alone making {percent(self.noise)}'
        return text

    def line(self) -> str:
        """Return the verdict in one line."""
        limit = f'limited by {self.limit.value}'
        parts = (*self.doubts, self.finding, limit, *self.reasons, *self.advice)
        return f'{self.grade.value} model: {"; ".join(parts)}'


def verdict_of(result: IdentificationResult) -> Verdict | None:
    """Judge a model by the diagnostics of its identification; None where it has no held-out errors.

    Files of earlier versions have none.
    """
    diagnostics = result.diagnostics
    errors = diagnostics.force_errors
    if errors is None:
        return None
    error, noise = errors.overall, _noise(diagnostics)
    part = None
    if noise is not None:
        part = min(float(np.linalg.norm(noise) / np.linalg.norm(errors.measured)), error)
    worst = result.joint_names[int(np.argmax(errors.relative))]
    limit, reasons, advice = _limit(result, diagnostics, error)
    named = _named(diagnostics, limit)
    found = Verdict(Grade.POOR, error, part, errors.relative, worst, limit, reasons, advice, named)
    doubtful = doubts(defects_of(diagnostics))
    if doubtful:
        return replace(found, grade=Grade.DOUBTFUL, doubts=tuple(doubtful))
    if found.limit is Limit.SIGNS:
        return replace(found, grade=Grade.DOUBTFUL)
    if not result.is_physical and result.consistent.p_value <= LEAST_P_VALUE:
        found = replace(found, reasons=(*found.reasons, _no_bodies(result)))
    found = replace(found, grade=Grade.of(found.model_error))
    if found.grade is Grade.POOR:
        return found
    if limit is Limit.EXCITATION:
        doubt = f'{"; ".join(reasons)}, and of motions that need them the data tell nothing'
        return replace(found, grade=Grade.UNPROVEN, doubts=(doubt,), reasons=found.reasons[1:])
    if errors.untested > UNTESTED:
        advice = (LONGER, *(advice if Named.TERM in named else ()))
        return replace(found, grade=Grade.UNPROVEN, doubts=(_too_short(errors),), advice=advice)
    return found


def _no_bodies(result: IdentificationResult) -> str:
    """Say that no real robot has such parameters."""
    distance = result.consistent.distance
    return f'no bodies have such parameters: the nearest ones are {distance:.3g} deviations away'


def _too_short(errors: ForceErrors) -> str:
    """Say why held-out parts tell no error of other motions."""
    return (
        f'the data are too short to judge it: {percent(errors.untested)} of what the parameters '
        f'rest on shows in one held-out part alone (of {max(errors.parts):.2g} s at most), and no '
        'other tests it'
    )


def _noise(diagnostics: Diagnostics) -> Array | None:
    """Noise (n_a,) of the averaged forces, RMS over the recordings; None where one has none."""
    squares = [
        None if each.force_noise is None else each.force_noise**2 / each.signals['periods']
        for each in diagnostics.data
    ]
    known = [each for each in squares if each is not None]
    if not known or len(known) < len(squares):
        return None
    return np.asarray(np.sqrt(np.mean(known, axis=0)))


def _limit(
    result: IdentificationResult, diagnostics: Diagnostics, error: float
) -> tuple[Limit, tuple[str, ...], tuple[str, ...]]:
    """What limits a model, what shows that, and what to do."""
    if doubts(defects_of(diagnostics)):
        return (
            Limit.WRONG_DATA,
            (),
            ('correct columns, units or rate of the data, then identify again',),
        )
    # those of drives that were estimated beside them are no parameters of the model
    lost = set(diagnostics.parameters.undetermined) & set(result.names)
    bias = _noise_bias(diagnostics)
    bad = _bad_share(diagnostics)
    if len(lost) > FEW_PROPER * len(result.names):
        reason = f'{len(lost)} of {len(result.names)} parameters are not determined'
        return Limit.EXCITATION, (reason,), (TOGETHER,)
    still = resting(result)
    if still:
        reason = f'{", ".join(still)} rest throughout, so that friction holds part of their load'
        return Limit.EXCITATION, (reason,), (TOGETHER,)
    if not _parts_agree(diagnostics):
        reason = (
            'in every band parts of the data predict the others worse than no model does: each '
            'shows parameters of its own, and nothing tells the band'
        )
        return Limit.EXCITATION, (reason,), (TOGETHER,)
    driven = driven_by_friction(result)
    if driven:
        reason = f'friction would drive {", ".join(driven)}'
        return Limit.SIGNS, (reason,), ('check the signs of forces and positions there',)
    if bias > MUCH_BIAS * error:
        reason = f'it makes {percent(bias)} of the force wrong'
        return Limit.NOISE_OF_MOTION, (reason,), ('estimate with iv or tls, or repeat a period',)
    if bad > MANY_BAD:
        reason = f'{percent(bad)} of the samples could not be used'
        return Limit.DATA, (reason,), ('see the lines on the data',)
    ratio = _variance_ratio(diagnostics)
    if ratio is not None:
        if ratio > LARGE_RATIO and error < NEGLIGIBLE:
            return Limit.NOTHING, (), ()
        if ratio > LARGE_RATIO:
            reason = f'the residuals are {np.sqrt(ratio):.2g} times as large as the noise'
            return Limit.MISSING_EFFECT, (reason,), _for_missing(diagnostics)
        return Limit.NOISE_OF_FORCES, (), ('more periods make the model better',)
    coloured = diagnostics.residual_findings.coloured
    if coloured and error < NEGLIGIBLE:
        return Limit.NOTHING, (), ()
    if coloured:
        is_all = set(coloured) == set(result.joint_names)
        named = 'all joints' if is_all else ', '.join(coloured)
        reason = f'the residuals of {named} are no noise'
        return Limit.MISSING_EFFECT, (reason,), _for_missing(diagnostics)
    reason = 'the residuals look like noise, which no period measures'
    return Limit.UNKNOWN, (reason,), ('repeat a motion period by period, which measures the noise',)


def resting(result: IdentificationResult) -> list[str]:
    """Joints that no recording moves: friction takes any part of the force that they hold."""
    errors = result.diagnostics.force_errors
    if errors is None or errors.domain is None:
        return []
    fastest = zip(result.joint_names, errors.domain.fastest, strict=True)
    return [joint for joint, speed in fastest if speed <= errors.transition_velocity]


def driven_by_friction(result: IdentificationResult) -> list[str]:
    """Joints whose Coulomb and viscous friction at their RMS speed pushes along the motion.

    Only joints without other friction, which may make up for it. Beyond doubt, and by a share of
    the force: one of force and motion has a wrong sign. Where limits keep friction positive, that
    which the data want without them counts.
    """
    errors = result.diagnostics.force_errors
    if errors is None:
        return []
    deviations = dict(zip(result.names, result.standard_deviation, strict=True))
    values = dict(zip(result.names, result.values, strict=True))
    wanted = result.diagnostics.own_as(LimitDiagnostics).wanted_friction
    values |= {each.name: each.value for each in wanted}
    deviations |= {each.name: each.standard_deviation for each in wanted}
    further = set(result.load_friction)
    if result.drive_friction is not None and not wanted:
        law = result.drive_friction.law
        pairs = zip(law.joint_names, law.laws, strict=True)
        further |= {joint for joint, kind in pairs if kind != LINEAR}
    found = []
    for joint, speed, force in zip(result.joint_names, errors.velocity, errors.force, strict=True):
        if joint in further:
            continue
        shares = {f'{joint}.coulomb': 1.0, f'{joint}.viscous': float(speed)}
        friction = sum(by * values.get(name, 0.0) for name, by in shares.items())
        doubt = DOUBT * sum(by * deviations.get(name, 0.0) for name, by in shares.items())
        if friction < -max(doubt, DRIVEN * float(force)):
            found.append(joint)
    return found


def _variance_ratio(diagnostics: Diagnostics) -> float | None:
    """Residual variance over that of the noise; None where the noise is unknown."""
    fit = diagnostics.fit
    ratio = None if fit is None else fit.residual_variance_ratio
    return None if ratio is None or not np.isfinite(ratio) else float(ratio)


def _named(diagnostics: Diagnostics, limit: Limit) -> frozenset[Named]:
    """What the sentences on this limit name."""
    if limit is not Limit.MISSING_EFFECT:
        return frozenset()
    is_by_colour = _variance_ratio(diagnostics) is None
    has_term = diagnostics.drive_terms.unmet is not None
    pairs = ((Named.COLOURED, is_by_colour), (Named.TERM, has_term))
    return frozenset(each for each, is_named in pairs if is_named)


def _for_missing(diagnostics: Diagnostics) -> tuple[str, ...]:
    """Return what to do about an effect that the model lacks."""
    found = diagnostics.drive_terms
    if found.unmet is not None:
        remedy = found.unmet.remedy
        return (found.unmet.sentence() + (f', which {remedy} takes' if remedy else ''),)
    where = 'look for elasticity, contacts or a wrong geometry'
    if found.tried_terms:
        further = 'further ' if any(each.is_taken for each in found.tried_terms) else ''
        return (f'no {further}term of the drives helps: {where}',)
    if found.refused:
        return ('no single term of the drives explains them',)
    return (f'no single term of the drives explains them: {where}',)


def _noise_bias(diagnostics: Diagnostics) -> float:
    """Largest relative error of forces that noise of the motion makes; 0 where unknown."""
    choices = [each.signals.get('band_choice') for each in diagnostics.data]
    known = [each['noise_bias'] for each in choices if each is not None]
    return max((float(np.max(each)) for each in known if each is not None), default=0.0)


def _parts_agree(diagnostics: Diagnostics) -> bool:
    """Whether parts of the data predict anything of each other; True without a choice."""
    choices = [each.signals.get('band_choice') for each in diagnostics.data]
    return all(each.get('parts_agree', True) for each in choices if each)


def _bad_share(diagnostics: Diagnostics) -> float:
    """Largest share of samples of one kind that were left out or lost."""
    shares = [
        defect.share
        for defect in defects_of(diagnostics)
        if defect.kind in ('gap', 'outlier', 'stuck', 'saturation', 'not_finite')
    ]
    return max(shares, default=0.0)


def defects_of(diagnostics: Diagnostics) -> list[Defect]:
    """Return what was found wrong in all recordings."""
    found = [(each.quality or {}).get('defects', []) for each in diagnostics.data]
    return [Defect.of(entry) for entries in found for entry in entries]
