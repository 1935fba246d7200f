"""Terms of drives that a selection tried, and the one that residuals ask for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from pkm_dynamics.friction_laws import LAWS

LEAST_FACTOR = 0.2  # of a force constant over the nominal one


class Term(str, Enum):
    """What a drive's model may lack."""

    OFFSET = 'offset'
    SPRING = 'spring'
    ROTOR = 'rotor'
    ASYMMETRY = 'asymmetry'
    RIPPLE = 'ripple'
    PRESLIDING = 'presliding'
    STRIBECK = 'stribeck'
    ATAN = 'atan'
    POWER = 'power'
    GAIN = 'force constant'
    DELAY = 'delay'
    ZERO = 'zero'

    __str__ = str.__str__

    @property
    def noun(self) -> str:
        """What it is called in a sentence."""
        return NOUNS[self]

    @property
    def is_law(self) -> bool:
        """Whether it stands beside Coulomb and viscous friction as a law of its own."""
        return self.value in LAWS

    @property
    def is_of_measurement(self) -> bool:
        """Whether not the model of the drives is wrong by it, but what is measured is."""
        return self in (Term.GAIN, Term.DELAY, Term.ZERO)


@dataclass(frozen=True)
class TriedTerm:
    """What one term of one drive, or of drives that share it, brings to a model."""

    step: int  # of the selection, from 1
    term: Term
    joints: tuple[str, ...]
    is_taken: bool
    error_before: float  # held-out RMS error of the forces of these drives over the forces' spread
    error_after: float
    # share of the squared held-out residuals of all drives, each relative to its own, that it takes
    gain: float
    deviation: float  # standard deviation of the gain, from its spread over the parts of the data
    f: float  # of the F test in all data, with as many rows as their colour leaves independent
    p_value: float  # of F, times the number of terms that were tried with it
    linear: bool = False  # whether the joints move along their axis (else they turn)
    period: float | None = None  # of a ripple [m, rad]
    harmonics: tuple[int, ...] = ()  # of a ripple
    # of a friction law: its parameters but the amplitude; of presliding: the deflection [m, rad]
    shape: tuple[float, ...] = ()
    # an offset that the data do not tell from Coulomb friction by direction
    is_ambiguous: bool = False
    replaces: tuple[str, ...] = ()  # parameters of the model that it stands in place of
    # of a force constant: measured forces over those that the other drives tell; of a delay: by how
    # much later than positions forces were taken [s], negative where they lag; of a zero: by how
    # much too large positions are [m, rad]
    value: float | None = None
    is_found: bool = False  # significant, and not taken: it is none of the model of the drives

    def sentence(self) -> str:
        """Say what the residuals of these drives show."""
        if self.term is Term.DELAY:
            assert self.value is not None
            late, early = ('forces', 'positions') if self.value < 0 else ('positions', 'forces')
            return f'{late} lag behind {early} by about {1e3 * abs(self.value):.2g} ms'
        if self.term is Term.ZERO:
            assert self.value is not None
            size = abs(self.value)
            told = f'{1e3 * size:.2g} mm' if self.linear else f'{size:.2g} rad'
            side = 'large' if self.value > 0 else 'small'
            return (
                f'{self.joints[0]}: forces are those of positions about {told} too {side}: '
                'zero of the encoder, or geometry'
            )
        words = EITHER if self.is_ambiguous else WORDS[self.term]
        if self.is_no_constant:
            words = WRONG_FORCE
        said = words.format(period=self._period(), value=self.value)
        return f'{", ".join(self.joints)}: {said}'

    @property
    def is_no_constant(self) -> bool:
        """Whether forces are too small for a force constant, or of the opposite sign."""
        return self.term is Term.GAIN and self.value is not None and self.value < LEAST_FACTOR

    @property
    def remedy(self) -> str:
        """Option that takes it into account; '' where none does."""
        return '' if self.is_no_constant else REMEDIES.get(self.term, 'friction=auto')

    def _period(self) -> str:
        if self.period is None:
            return ''
        return f'{1e3 * self.period:.3g} mm' if self.linear else f'{self.period:.3g} rad'


NOUNS = {
    Term.OFFSET: 'offset',
    Term.ASYMMETRY: 'asymmetry',
    Term.SPRING: 'spring',
    Term.ROTOR: 'rotor inertia',
    Term.RIPPLE: 'ripple',
    Term.PRESLIDING: 'presliding',
    Term.STRIBECK: 'Stribeck friction',
    Term.ATAN: 'arctangent friction',
    Term.POWER: 'power-law friction',
    Term.GAIN: 'force constant',
    Term.DELAY: 'delay',
    Term.ZERO: 'zero',
}
WRONG_FORCE = (
    'forces are not what the other drives tell ({value:.2g} times): a dead sensor, a wrong sign, '
    'the column of another joint?'
)
REMEDIES = {Term.GAIN: 'drive_gains=each', Term.DELAY: 'delay=estimate', Term.ZERO: ''}
WORDS = {
    Term.OFFSET: 'a constant force: offset',
    Term.ASYMMETRY: 'Coulomb friction that differs by direction: asymmetry',
    Term.SPRING: 'residuals in proportion to the position: spring',
    Term.ROTOR: 'residuals in proportion to the acceleration: rotor inertia',
    Term.RIPPLE: 'residuals periodic in position with {period}: ripple',
    Term.PRESLIDING: 'friction that yields before it slips: presliding',
    Term.STRIBECK: 'Stribeck friction',
    Term.ATAN: 'friction that saturates with the speed (arctangent)',
    Term.POWER: 'friction by a power of the speed',
    Term.GAIN: 'forces are {value:.3g} times what the other drives tell: force constant or unit',
}


EITHER = (
    'a constant force or Coulomb friction that differs by direction, which these data do not '
    'tell apart: offset'
)


@dataclass(frozen=True)
class DriveTermDiagnostics:
    """Terms of drives beyond the model that data were identified with."""

    # the term that the residuals ask for most beyond the model; None where none is significant
    asked_for: TriedTerm | None = None
    # of `friction='auto'`, step by step; those not taken are the best of their step
    tried_terms: tuple[TriedTerm, ...] = ()
    refused: str = ''  # why no friction laws, or no terms at all, were looked for

    @property
    def unmet(self) -> TriedTerm | None:
        """The term that residuals ask for, or else what is wrong with the measured forces."""
        found = (each for each in self.tried_terms if each.is_found)
        return self.asked_for or next(found, None)
