"""Forces of drives by their position: offsets, springs, force ripple; rotors, Coulomb friction.

They belong to the single drive, never to the design that drives share: an amplifier's offset
and the phase of a ripple are those of one piece.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from pkm_description.description import Actuator, Description, DriveTerms, Joint, Ripple, WarmUp
from pkm_description.errors import DescriptionError
from pkm_description.sidecar import known_keys, mapping, number
from pkm_description.xml_elements import suggestion

KEYS = ('offset', 'stiffness', 'rest', 'rotor', 'asymmetry', 'presliding', 'ripple', 'warm_up')
NUMBERS = KEYS[:6]
POWER = ('coulomb', 'viscous')  # friction whose power heats a drive
# models of friction of which Coulomb friction may differ by direction, and those where it does
BENT = {'coulomb_viscous': 'asymmetric', 'coulomb': 'asymmetric_coulomb'}
VALUES = (('cosine', 'sine'), ('amplitude', 'phase'))
MAX_HARMONICS = 100  # a ripple with more is a table, and a typing error likelier than one
SYNTAX = 'JOINT:TERM[+TERM], TERM one of offset, spring, spring(REST), rotor, asymmetry, '
SYNTAX += 'ripple(PERIOD[,HARMONICS]), presliding(DEFLECTION), warm_up(TIME[,TIME])'
_TERM = re.compile(r'(offset|spring|rotor|asymmetry|ripple|presliding|warm_up)(?:\(([^()]*)\))?')

Given = Mapping[str, Any] | Sequence[str] | str


def with_drive_terms(description: Description, terms: Given) -> Description:
    """Return the robot with further forces of its drives by position.

    The texts of the description, and with them its digest, stay as they are: it is the same
    robot, of which more is modelled.

    Parameters
    ----------
    description
        The robot.
    terms
        By driven joint or pattern, as the section `drives` of the YAML: `{'leg1_strut':
        {'offset': 0, 'ripple': {'period': 0.012, 'harmonics': 2}}, '*': {'stiffness': 0}}`.
        What a joint has of these is replaced, what is not named stays. Or texts such as
        `leg1_strut:offset+ripple(0.012,2)`, `*:spring(0.1)+rotor`: values start at zero. A
        rotor inertia, or Coulomb friction by direction, that the description has counts before
        one of these.

    Raises
    ------
    DescriptionError
        A joint has no drive, no Coulomb friction that could differ by direction, or a term or
        number cannot be used.
    """
    given = terms if isinstance(terms, Mapping) else parse_drive_terms(terms)
    return _extended(description, given, 'drive_terms')


def with_only_drive_terms(description: Description, terms: Given) -> Description:
    """Return the robot with these forces of its drives by position in place of its own."""
    bare = tuple(
        replace(
            item,
            terms=DriveTerms(),
            rotor_inertia=item.rotor_inertia if item.terms.rotor is None else None,
        )
        for item in description.actuators
    )
    joints = tuple(
        _rubbing(joint, None, '') if _is_bent(description, joint) else joint
        for joint in description.joints
    )
    return with_drive_terms(replace(description, actuators=bare, joints=joints), terms)


def drive_mapping(description: Description) -> dict[str, dict[str, Any]]:
    """Plain values of all forces of drives by position, as `with_drive_terms` takes them."""
    return {joint: terms_mapping(terms) for joint, terms in description.drive_terms.items()}


def read_drive_terms(description: Description) -> Description:
    """Add what the section `drives` of a robot's sidecar says."""
    return _extended(description, description.sidecar.get('drives', {}), 'drives')


def parse_drive_terms(texts: Sequence[str] | str) -> dict[str, dict[str, Any]]:
    """Terms by joint from texts `JOINT:TERM[+TERM]`, as `with_drive_terms` takes them.

    One text may hold several, with semicolons between them.
    """
    found: dict[str, dict[str, Any]] = {}
    listed = [texts] if isinstance(texts, str) else texts
    for text in (part for item in listed for part in str(item).split(';')):
        joint, colon, rest = text.strip().rpartition(':')
        if not colon or not joint:
            raise DescriptionError(f"drive terms '{text}' are not {SYNTAX}")
        own = found.setdefault(joint.strip(), {})
        for term in re.split(r'\+(?![^(]*\))', rest):
            own.update(_parse_term(term.strip(), text))
    return found


def terms_mapping(terms: DriveTerms) -> dict[str, Any]:
    """Plain values of a drive's terms, as the section `drives` holds them."""
    content: dict[str, Any] = {}
    if terms.offset is not None:
        content['offset'] = terms.offset
    if terms.stiffness is not None:
        content |= {'stiffness': terms.stiffness, 'rest': terms.rest}
    if terms.rotor is not None:
        content['rotor'] = terms.rotor
    if terms.asymmetry is not None:
        content['asymmetry'] = terms.asymmetry
    if terms.presliding is not None:
        content['presliding'] = terms.presliding
    if terms.warm_up is not None:
        given = {key: value for key, value in vars(terms.warm_up).items() if value is not None}
        listed = {key: list(value) for key, value in given.items() if isinstance(value, tuple)}
        content['warm_up'] = given | listed
    if terms.ripple is not None:
        ripple = terms.ripple
        content['ripple'] = {
            'period': ripple.period,
            'harmonics': list(ripple.harmonics),
            'cosine': list(ripple.cosine),
            'sine': list(ripple.sine),
        }
    return content


def terms_of(given: Any, where: str) -> DriveTerms:
    """Return the terms of one drive, checked; DescriptionError names what is wrong."""
    table = known_keys(given, where, KEYS)
    values = {key: number(table[key], f'{where}.{key}') for key in NUMBERS if key in table}
    if 'rest' in values and 'stiffness' not in values:
        raise DescriptionError(f'{where} has a rest position, but no stiffness')
    if 'stiffness' in values:
        values.setdefault('offset', 0.0)
    if values.get('rotor', 0.0) < 0.0:
        raise DescriptionError(f'{where}.rotor {values["rotor"]:g} is negative')
    if values.get('presliding', 1.0) <= 0.0:
        raise DescriptionError(f'{where}.presliding must be positive, not {values["presliding"]:g}')
    ripple = _ripple(table['ripple'], f'{where}.ripple') if 'ripple' in table else None
    warm_up = _warm_up(table['warm_up'], f'{where}.warm_up') if 'warm_up' in table else None
    return DriveTerms(**values, ripple=ripple, warm_up=warm_up)


def _extended(description: Description, given: Any, where: str) -> Description:
    """Give the drives further terms, and their joints friction by direction."""
    found = _with_terms(description.actuators, given, where)
    asymmetry = {item.joint: item.terms.asymmetry for item in found}
    joints, own = [], set()
    for joint in description.joints:
        value = asymmetry.get(joint.name)
        if value is not None and _is_lopsided(joint) and not _is_bent(description, joint):
            own.add(joint.name)
        elif value is not None:
            joint = _rubbing(joint, value, where)
        joints.append(joint)
    kept = tuple(
        replace(item, terms=replace(item.terms, asymmetry=None)) if item.joint in own else item
        for item in found
    )
    return replace(description, actuators=kept, joints=tuple(joints))


def _is_lopsided(joint: Joint) -> bool:
    return joint.friction is not None and joint.friction.is_asymmetric


def _is_bent(description: Description, joint: Joint) -> bool:
    """Whether the friction of a joint is by direction for a term of its drive."""
    terms = description.drive_terms.get(joint.name)
    return terms is not None and terms.asymmetry is not None


def _rubbing(joint: Joint, asymmetry: float | None, where: str) -> Joint:
    """Return a joint whose Coulomb friction differs by direction; None: it does not."""
    friction = joint.friction
    if friction is None or friction.model not in (*BENT, *BENT.values()):
        raise DescriptionError(
            f"{where}.{joint.name}.asymmetry: '{joint.name}' has no Coulomb friction that could "
            'differ by direction; declare a friction model with it'
        )
    mean = 0.5 * sum(friction.levels)
    model = next(plain for plain, bent in BENT.items() if friction.model in (plain, bent))
    if asymmetry is None:
        plain = replace(friction, coulomb=mean, coulomb_negative=mean, model=model)
        return replace(joint, friction=plain)
    if abs(asymmetry) > mean:
        raise DescriptionError(
            f'{where}.{joint.name}.asymmetry {asymmetry:g} is more than the Coulomb friction '
            f'{mean:g}, which would drive the joint'
        )
    sides = {'coulomb': mean + asymmetry, 'coulomb_negative': mean - asymmetry}
    return replace(joint, friction=replace(friction, **sides, model=BENT[model]))


def _with_terms(actuators: tuple[Actuator, ...], given: Any, where: str) -> tuple[Actuator, ...]:
    driven = [item.joint for item in actuators if not item.free]
    merged = {item.joint: terms_mapping(item.terms) for item in actuators}
    for pattern, content in mapping(given, where).items():
        matching = [name for name in driven if fnmatchcase(name, str(pattern))]
        if not matching:
            raise DescriptionError(
                f"{where} names '{pattern}', which is no joint with a drive"
                f'{suggestion(str(pattern), driven)}; they are {", ".join(driven)}'
            )
        for name in matching:
            merged[name] = {**merged[name], **mapping(content, f'{where}.{pattern}')}
    return tuple(
        _with(item, terms_of(merged[item.joint], f'{where}.{item.joint}')) for item in actuators
    )


def _with(actuator: Actuator, terms: DriveTerms) -> Actuator:
    """Give an actuator these terms; a rotor only where it has none of its own."""
    own = actuator.rotor_inertia if actuator.terms.rotor is None else None
    if own is not None:
        return replace(actuator, terms=replace(terms, rotor=None))
    return replace(actuator, terms=terms, rotor_inertia=terms.rotor)


def _ripple(given: Any, where: str) -> Ripple:
    pairs = [key for pair in VALUES for key in pair]
    table = known_keys(given, where, ('period', 'harmonics', *pairs))
    if 'period' not in table:
        raise DescriptionError(f"{where} has no 'period' [m, rad]")
    period = number(table['period'], f'{where}.period')
    if period <= 0.0:
        raise DescriptionError(f'{where}.period must be positive, not {period:g}')
    harmonics = _harmonics(table.get('harmonics', 1), f'{where}.harmonics')
    used = [pair for pair in VALUES if any(key in table for key in pair)]
    if len(used) > 1:
        raise DescriptionError(f'{where} has cosine and sine or amplitude and phase, not both')
    first, second = used[0] if used else VALUES[0]
    one = _per(table.get(first, 0.0), f'{where}.{first}', len(harmonics), 'harmonic')
    two = _per(table.get(second, 0.0), f'{where}.{second}', len(harmonics), 'harmonic')
    if (first, second) == VALUES[1]:  # amplitude sin(2 pi k q / period + phase)
        one, two = (
            tuple(a * math.sin(p) for a, p in zip(one, two, strict=True)),
            tuple(a * math.cos(p) for a, p in zip(one, two, strict=True)),
        )
    return Ripple(period, harmonics, one, two)


def _harmonics(given: Any, where: str) -> tuple[int, ...]:
    """Harmonics of a count, or as they are listed."""
    is_count = isinstance(given, int) and not isinstance(given, bool)
    listed = list(given) if isinstance(given, list | tuple) else []
    if is_count and 1 <= given <= MAX_HARMONICS:
        listed = list(range(1, given + 1))
    whole = all(isinstance(item, int) and not isinstance(item, bool) for item in listed)
    if not listed or not whole or len(set(listed)) < len(listed):
        listed = [0]
    if not 1 <= min(listed) <= max(listed) <= MAX_HARMONICS:
        raise DescriptionError(
            f'{where} must be a count or a list of different whole numbers from 1 to '
            f'{MAX_HARMONICS}, not {given!r}'
        )
    return tuple(listed)


def _warm_up(given: Any, where: str) -> WarmUp:
    table = known_keys(given, where, ('times', 'values', 'coulomb', 'viscous', 'start'))
    if not table.get('times'):
        raise DescriptionError(f"{where} has no 'times' [s]")
    listed = table['times'] if isinstance(table['times'], list | tuple) else [table['times']]
    times = tuple(number(each, f'{where}.times') for each in listed)
    if min(times) <= 0.0 or len(set(times)) < len(times):
        raise DescriptionError(f'{where}.times must be different positive numbers, not {listed}')
    values = _per(table.get('values', 0.0), f'{where}.values', len(times), 'time')
    start = _per(table['start'], f'{where}.start', len(times), 'time') if table.get('start') else ()
    if min(start, default=0.0) < 0.0:
        raise DescriptionError(f'{where}.start {min(start):g} is negative: no friction heats so')
    power = {key: number(table[key], f'{where}.{key}') for key in POWER if key in table}
    if min(power.values(), default=0.0) < 0.0:
        raise DescriptionError(f'{where}: friction that heats the drive must not be negative')
    return WarmUp(times, values, **power, start=start)


def _per(given: Any, where: str, count: int, what: str) -> tuple[float, ...]:
    values: Iterable[Any] = given if isinstance(given, list | tuple) else [given] * count
    found = tuple(number(value, where) for value in values)
    if len(found) != count:
        raise DescriptionError(f'{where} must be one number or {count}, one a {what}')
    return found


def _parse_term(term: str, text: str) -> dict[str, Any]:
    match = _TERM.fullmatch(term)
    try:
        if match is None:
            raise ValueError
        kind, inside = match.groups()
        numbers = [part.strip() for part in inside.split(',')] if inside else []
        if kind in ('offset', 'rotor', 'asymmetry') and not numbers:
            return {kind: 0.0}
        if kind == 'spring' and len(numbers) < 2:
            return {'stiffness': 0.0, 'rest': float(numbers[0]) if numbers else 0.0}
        if kind == 'warm_up' and numbers:
            return {kind: {'times': [float(each) for each in numbers]}}
        if kind == 'presliding' and len(numbers) == 1:
            return {kind: float(numbers[0])}
        if kind == 'ripple' and len(numbers) in (1, 2):
            harmonics = int(numbers[1]) if len(numbers) == 2 else 1
            return {'ripple': {'period': float(numbers[0]), 'harmonics': harmonics}}
    except ValueError:
        pass
    raise DescriptionError(f"drive terms '{text}': '{term}' is no term; write {SYNTAX}") from None
