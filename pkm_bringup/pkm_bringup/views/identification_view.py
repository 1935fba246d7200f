"""What `pkm identify` prints: parameters, residuals, verdicts; and the same for a machine."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Set
from functools import partial
from typing import Any

from pkm_bringup.views.console import Column, Table, print_columns, print_note, show, table_of
from pkm_bringup.views.validation_view import EPS_RA, TO_TRUTH, TO_TRUTH_IN_BAND, explained
from pkm_description import Description
from pkm_identification import IdentificationResult
from pkm_identification.estimators.set_membership.parameter_ellipsoid import EllipsoidDiagnostics
from pkm_identification.force_constants.force_constants import ForceConstants
from pkm_identification.percent import percent
from pkm_identification.physical.nearest import LEAST_P_VALUE
from pkm_identification.quality.report import Defect
from pkm_identification.quality.report import lines as sentences
from pkm_identification.requests.identify_request import Identified
from pkm_identification.result.diagnostics import Delay, ParameterDiagnostics, RecordedDescription
from pkm_identification.result.drive_terms import TriedTerm
from pkm_identification.result.fields import plain
from pkm_identification.result.verdict import Limit, Named, verdict_of

NAMED = 12  # parameters
COMBINED = 8  # standard parameters that a row of the terminal names
CLOCK = ('jitter', 'stale', 'clock_leap', 'coarse_stamp')  # kinds of defects that are its repair
SMALL_BIAS = 0.005  # relative error of forces that no user sees
UNKNOWN = 'unknown'  # what no data tell
HELD = 'held'  # what was not estimated
LARGE = 4.0  # residual variance over that of the noise
CAUSES = (
    'the model, joint names, units, signs, or the delay of the forces do not fit; the standard '
    'deviations are widened to match'
)
INERTIAS = ('Ixx', 'Ixy', 'Ixz', 'Iyy', 'Iyz', 'Izz')
COMPONENTS = ('mass [kg]', *(f'centre {axis} [m]' for axis in 'xyz'))
COMPONENTS += tuple(f'{name} [kg m^2]' for name in INERTIAS)
PARAMETER = ('name', 'value', 'standard_deviation', 'relative', 'low', 'high', 'unit', 'expression')
STEPS: dict[str, Column] = {
    'parameters': 'parameters',
    'proper': 'proper',
    EPS_RA: lambda step: 100 * step['error']['measured'],
    f'held-out {EPS_RA}': lambda step: 100 * step['held_out']['measured'],
    f'held-out {TO_TRUTH_IN_BAND}': lambda step: 100 * step['held_out']['truth'],
    'variance': 'variance_ratio',
    'p': 'p_value',
    'dropped': lambda step: step['dropped'] or '-',
    'why': lambda step: step['reason'] or '-',
    'sd [%]': 'relative',
}


TERMS: dict[str, Column] = {
    'step': 'step',
    'term': lambda row: (
        row['term'].value + (f' for {", ".join(row["replaces"])}' if row['replaces'] else '')
    ),
    'drives': 'drives',
    'period [m, rad]': lambda row: row['period'] or '-',
    'held-out error [%]': lambda row: 100 * row['error_before'],
    'with it [%]': lambda row: 100 * row['error_after'],
    'gain [%]': lambda row: 100 * row['gain'],
    'sd [%]': lambda row: 100 * row['deviation'],
    'F': 'f',
    'p': 'p_value',
    'taken': lambda row: 'yes' if row['is_taken'] else 'no',
}


def print_identified(found: Identified, level: float) -> None:
    """Print tables and sentences on stdout, remarks on stderr."""
    result = found.result
    print_verdict(result)
    if found.reduction is not None:
        print_steps(found.reduction.rows())
    show(parameter_table(result, level, COMBINED))
    for table in drive_term_tables(result):
        sys.stdout.write('\n')
        show(table)
    print_calibration(result)
    sys.stdout.write('\n')
    show(residual_table(result))
    sys.stdout.write(''.join(f'{text}\n' for text in conclusions(found)))
    for line in remarks(result):
        print_note(line)


def print_coordinates(description: Description) -> None:
    """Say on stderr what forces are, where a robot has redundant drives."""
    redundant = [each.joint for each in description.followers]
    if redundant:
        print_note(
            f'note: forces are generalised forces at {", ".join(description.actuated_joints)}, '
            f'which have those of {", ".join(redundant)} in them; what the drives hold against '
            'each other is not seen'
        )


def conclusions(found: Identified) -> list[str]:
    """Return sentences on the fit, on how well the parameters are known, and whether they exist."""
    result = found.result
    fit = (correlations(result), fit_verdict(result), not_determined(result))
    sentences = (*fit, certainty(found.identifiability), verdict(result))
    return [text for text in sentences if text]


def parameter_table(result: IdentificationResult, level: float, terms: int | None = None) -> Table:
    """Return the parameters with their intervals and at most so many terms they stand for."""
    columns = parameter_columns(interval_heading(result, level), terms)
    return table_of(parameters(result, level), columns)


def parameter_columns(interval: str, terms: int | None = None) -> dict[str, Column]:
    """Columns of the table of parameters, with the heading of their intervals.

    What is held has no uncertainty that the data tell: shapes of friction laws from a grid, ends
    of what parameters may be, values that were given.
    """

    def of_estimate(key: str, held: str | None = None) -> Column:
        return lambda row: row[key] if row['standard_deviation'] > 0 else held

    return {
        'parameter': 'name',
        'estimate': 'value',
        'standard deviation': of_estimate('standard_deviation', HELD),
        '%': of_estimate('relative'),
        f'{interval} from': of_estimate('low'),
        'to': of_estimate('high'),
        'unit': 'unit',
        'stands for': partial(stands_for, most=terms),
    }


def stands_for(row: Mapping[str, Any], most: int | None = None) -> str:
    """Return the combination of standard parameters that a row is of; '' of one that is alone.

    Of many, as of a hand whose parts are fixed links, the first ones; files have all.
    """
    expression = str(row['expression'])
    if expression == row['name']:
        return ''
    terms = re.split(' (?=[+-] )', expression)
    left = 0 if most is None else len(terms) - most
    return expression if left <= 1 else f'{" ".join(terms[:most])} and {left} more'


def print_verdict(result: IdentificationResult) -> None:
    """Print how good the model is, what limits it and what to do, then what shows that."""
    found = verdict_of(result)
    lines = [] if found is None else [found.line()]
    lines += [f'  {line}' for line in evidence(result)]
    sys.stdout.write('\n'.join(lines) + '\n\n')


def evidence(result: IdentificationResult) -> list[str]:
    """Return lines below the verdict: data and band, clock, residuals, friction, contradictions."""
    found = verdict_of(result)
    lines = [*processing_lines(result), *held_out_parts(result)]
    lines += [
        f'clock{of}: {text}'
        for of, defects in _by_recording(result)
        for text in sentences([each for each in defects if each.kind in CLOCK])
    ]
    named = frozenset() if found is None else found.named
    is_noise = found is not None and found.limit is Limit.NOISE_OF_FORCES
    lines += findings(result, named, is_noise)
    lines.append(f'friction: {friction_terms(result, Named.TERM in named)}')
    return lines + contradictions(result.diagnostics.parameters)


def held_out_parts(result: IdentificationResult) -> list[str]:
    """Say which parts of the data were held out, in one line; none where none were."""
    errors = result.diagnostics.force_errors
    if errors is None or not errors.parts:
        return []
    shortest, longest = (f'{each:.3g}' for each in (min(errors.parts), max(errors.parts)))
    long = shortest if shortest == longest else f'{shortest} to {longest}'
    return [f'held out: {len(errors.parts)} parts of {long} s, each predicted from all others']


def friction_terms(result: IdentificationResult, is_asked_named: bool = False) -> str:
    """Return what is in the model beyond the description, and what the residuals ask for.

    The sentence on what they ask for is left out where it `is_asked_named` before.
    """
    taken = [each for each in result.diagnostics.drive_terms.tried_terms if each.is_taken]
    alike: dict[tuple[str, str], list[str]] = {}  # joints by term and what is said of it
    for each in taken:
        alike.setdefault((each.term.noun, _details(each)), []).extend(each.joints)
    text = '; '.join(f'{term} of {", ".join(own)}{said}' for (term, said), own in alike.items())
    asked = asked_for(result, is_asked_named)
    lopsided = '; '.join(lopsided_friction(result))
    refused = result.diagnostics.drive_terms.refused
    return '; '.join(each for each in (text or 'as described', lopsided, asked, refused) if each)


def _details(term: TriedTerm) -> str:
    """Return what a term stands in place of, or for."""
    if term.is_ambiguous:
        return ' (or Coulomb friction by direction: these data do not tell them apart)'
    return f' in place of {", ".join(term.replaces)}' if term.replaces else ''


def lopsided_friction(result: IdentificationResult) -> list[str]:
    """Return the Coulomb friction of each drive, or of drives alike, that differs by direction."""
    values = dict(zip(result.names, result.values.tolist(), strict=True))
    units = dict(zip(result.names, result.units, strict=True))
    forwards = [name for name in values if name.endswith('.coulomb_positive')]
    found = []
    for name in forwards:
        drive = name.rpartition('.')[0]
        backwards = values.get(f'{drive}.coulomb_negative')
        if backwards is not None:
            found.append(f'Coulomb {drive} {values[name]:+.3g}/{-backwards:+.3g} {units[name]}')
    return found


def contradictions(found: ParameterDiagnostics) -> list[str]:
    """Return a sentence for each fixed parameter that the data contradict."""
    return [
        f"the data contradict '{each.name}', fixed at {each.value:.4g}: they want "
        f'{each.wanted:.4g}, {each.deviations:.2g} standard deviations away'
        for each in found.contradicted
    ]


def remarks(result: IdentificationResult) -> list[str]:
    """Return what is wrong with the data, one line a defect and recording, and the warnings."""
    lines = [
        f'data{of}: {text}'
        for of, defects in _by_recording(result)
        for text in sentences([each for each in defects if each.kind not in CLOCK])
    ]  # those of the clock are said with the verdict
    diagnostics = result.diagnostics
    if any(each.recorded_description is RecordedDescription.ANOTHER for each in diagnostics.data):
        lines.append('note: the data carry another description than the one used here')
    return lines + [f'warning: {warning}' for warning in diagnostics.warnings]


def _by_recording(result: IdentificationResult) -> list[tuple[str, list[Defect]]]:
    """Return the number of each recording, '' of a single one, and its defects."""
    several = result.diagnostics.data
    return [
        (
            f' {number}' if len(several) > 1 else '',
            [Defect.of(entry) for entry in (each.quality or {}).get('defects', [])],
        )
        for number, each in enumerate(several, start=1)
    ]


def print_steps(steps: list[dict[str, Any]]) -> None:
    """Print the way to the reduced model, one line an estimate."""
    columns, told = dict(STEPS), [EPS_RA]
    for kind, header in (('measured', EPS_RA), ('truth', TO_TRUTH_IN_BAND)):
        if kind not in steps[0]['held_out']:
            del columns[f'held-out {header}']
        elif kind == 'truth':
            told += [TO_TRUTH, TO_TRUTH_IN_BAND]
    print_columns(steps, columns)
    sys.stdout.write(''.join(f'{line}\n' for line in ('', *explained(*told), '')))


def parameters(result: Any, level: float = 0.95) -> list[dict[str, Any]]:
    """Return one row a parameter; the relative standard deviation in %."""
    interval = result.confidence_interval(level)
    deviations = (result.standard_deviation, result.relative_standard_deviation)
    numbers = (each.tolist() for each in (result.values, *deviations, *interval.T))
    columns = [result.names, *numbers, result.units, result.expressions]
    rows = list(zip(*columns, strict=True))
    friction = result.drive_friction
    if friction is not None:
        factor = result.coverage_factor(level)
        columns = [friction.names, friction.values.tolist(), friction.standard_deviation.tolist()]
        for name, value, sd, unit in zip(*columns, friction.units, strict=True):
            relative = 100 * sd / abs(value) if value else math.inf
            low, high = value - factor * sd, value + factor * sd
            rows.append((name, value, sd, relative, low, high, unit, name))
    return [dict(zip(PARAMETER, row, strict=True)) for row in rows]


def drive_term_tables(result: IdentificationResult) -> list[Table]:
    """Return what terms of the drives brought that `friction='auto'` tried; none where none."""
    tried = result.diagnostics.drive_terms.tried_terms
    rows = [{'drives': ', '.join(each.joints), **vars(each)} for each in tried]
    return [table_of(rows, TERMS)] if rows else []


def asked_for(result: IdentificationResult, is_named: bool = False) -> str:
    """Return which term the residuals ask for and what it brings; '' where there is none.

    Where it `is_named` before, only what it brings.
    """
    asked = result.diagnostics.drive_terms.asked_for
    if asked is None:
        return ''
    drives = ', '.join(asked.joints)
    before, after = (100 * each for each in (asked.error_before, asked.error_after))
    change = f'from {before:.3g} to {after:.3g} % of the spread of its forces'
    if is_named:
        return f'with the {asked.term.noun} of {drives} the held-out error there goes {change}'
    return (
        f'the residuals ask for a term that the model lacks ({asked.sentence()}): with it the '
        f'held-out error there goes {change}' + (f'; see {asked.remedy}' if asked.remedy else '')
    )


def residual_table(result: IdentificationResult) -> Table:
    """Return what the residuals say, one line an actuator and recording."""
    several = any(entry.run for entry in result.residual_analysis)
    rows = [
        [
            f'{entry.joint} ({entry.run + 1})' if several else entry.joint,
            entry.rms,
            _known(entry.noise_rms),
            _known(entry.variance_p_value),
            _known(entry.whiteness_p_value),
            100 * entry.outlier_share,
            entry.worst_times[0] if entry.worst_times else None,
        ]
        for entry in result.residual_analysis
    ]
    header = ('residuals', 'RMS [N, N m]', 'noise RMS', 'p noise', 'p white')
    return Table((*header, 'outliers [%]', 'worst at [s]'), rows)


def _known(value: float) -> float | str:
    """Return a figure, or that it is unknown."""
    return value if math.isfinite(value) else UNKNOWN


def findings(
    result: IdentificationResult, named: Set[Named] = frozenset(), is_mostly_noise: bool = False
) -> list[str]:
    """Say which residuals show that the model lacks something, one line a kind.

    What the verdict has `named` is left out: the axis with the largest error always is. Residuals
    that are mostly noise may still hold a small part that is not.
    """
    found, errors = result.diagnostics.residual_findings, result.diagnostics.force_errors
    lines = []
    if len(found.large) > 1 and errors is not None:
        shares = dict(zip(result.joint_names, errors.relative, strict=True))
        axes = ', '.join(f'{joint} {100 * shares[joint]:.3g} %' for joint in found.large)
        lines.append(f'held-out residuals above a tenth of the forces: {axes}')
    if found.coloured and Named.COLOURED not in named:
        what = 'coloured residuals, no noise but what the model lacks'
        if is_mostly_noise:
            what = 'beside the noise a smaller error of the model, as coloured residuals show'
        lines.append(f'{what}: {", ".join(found.coloured)}')
    return lines


def correlations(result: Any) -> str:
    """Return the strongest correlation and the condition number in one line."""
    pairs = result.strongest_correlations(1)
    condition = result.diagnostics.condition
    text = '' if condition is None else f'condition number {condition.condition_number:.4g}'
    if pairs:
        first, second, value = pairs[0]
        text += f'; strongest correlation {value:.3f}, of {first} and {second}'
    return text


def certainty(known: Any) -> str:
    """Return in one sentence how many parameters are properly identified, and which are not."""
    estimated = int(known.is_estimated.sum())
    text = f'{known.count} of {estimated} parameters properly identified'
    text += f' (known to {known.threshold:g} %, of a possible sign)'
    if known.differences:
        text += '; differences of equal parts are judged by the size of these parts: '
        text += ', '.join(known.differences)
    others: dict[str, list[str]] = {}
    for index, name in enumerate(known.names):
        others.setdefault(known.verdict(index), []).append(name)
    for kind in ('impossible sign', 'uncertain'):
        if kind in others:
            text += f'; {kind}: {", ".join(others[kind])}'
    return text


def verdict(result: Any) -> str:
    """Return in one sentence whether the estimate can belong to real bodies."""
    if result.is_physical:
        return 'physical: bodies and friction with exactly these parameters exist'
    consistent = result.consistent
    reasons = '; '.join(consistent.violations) or 'no body can have these parameters'
    place = f'{consistent.distance:.3g} standard deviations away'
    if consistent.p_value > LEAST_P_VALUE:
        return (
            f'physical within its uncertainty: the nearest physical model, {place}, fits the data '
            f'as well (chance alone puts it farther away with p = {consistent.p_value:.2g}); the '
            f'estimate itself is not physical: {reasons}'
        )
    return (
        f'not physical: {reasons}; the nearest physical model contradicts the data, {place} '
        f'(p = {consistent.p_value:.2g})'
    )


def summary(found: Identified, output: str, level: float) -> dict[str, Any]:
    """Return what a machine may want to know."""
    result, known, reduction = found.result, found.identifiability, found.reduction
    content = {
        'robot': result.robot,
        'estimator': result.estimator,
        'level': level,
        'parameters': parameters(result, level),
        'correlation': result.correlation,
        'strongest_correlations': result.strongest_correlations(),
        'residuals': plain(result.residual_analysis),
        'residual_rms': dict(zip(result.joint_names, result.residual_rms, strict=True)),
        **calibration_summary(result),
        'verdict': plain(verdict_of(result)),
        'is_physical': result.is_physical,
        'violations': list(result.consistent.violations),
        'distance_to_physical': result.consistent.distance,
        'p_value_physical': result.consistent.p_value,
        'diagnostics': result.diagnostics,
        'output': output,
    }
    content |= {'identifiability': known.rows(), 'properly_identified': known.count}
    if reduction is not None:
        content |= {'steps': reduction.rows(), 'dropped': reduction.dropped}
    return content


def print_calibration(result: IdentificationResult) -> None:
    """Print the force constants and payloads that were estimated."""
    for table, lines in calibration_tables(result):
        sys.stdout.write('\n')
        show(table)
        sys.stdout.write(''.join(f'{line}\n' for line in lines))


def calibration_tables(result: IdentificationResult) -> list[tuple[Table, list[str]]]:
    """Return force constants and payloads that were estimated, each with sentences below."""
    found: list[tuple[Table, list[str]]] = []
    constants = result.force_constants
    if constants is not None and constants.groups:
        columns = (constants.nominal, constants.values, constants.standard_deviation)
        rows = [
            [joint, nominal, value, deviation, 100 * deviation / value]
            for joint, nominal, value, deviation in zip(
                constants.joint_names, *columns, strict=True
            )
            if joint in constants.by_joint
        ]
        header = ('force constant [N/A, N m/A]', 'given', 'estimate', 'standard deviation', '%')
        found.append((Table(header, rows), _constant_lines(constants)))
    for payload in result.payloads:
        where = ', '.join(str(number + 1) for number in payload.datasets)
        pairs = zip(COMPONENTS, payload.values, payload.standard_deviation, strict=True)
        names = (f'{payload.name} in data {where}', 'estimate', 'standard deviation')
        found.append((Table(names, [list(row) for row in pairs]), []))
    return found


def _constant_lines(constants: ForceConstants) -> list[str]:
    ratios = f'{100 * max(constants.ratio_deviation):.3g} % (standard deviations)'
    if not math.isfinite(constants.common_deviation):
        return [f'common factor not determined, each over the mean to {ratios}']
    common = f'common factor known to {100 * constants.common_deviation:.3g} %'
    return [
        f'{common}, each over the mean to {ratios}',
        'for the description, <ros2_control>:',
        *(
            f'  <joint name="{joint}">: <param name="force_constant">{value:.6g}</param>'
            for joint, value in constants.by_joint.items()
        ),
    ]


def calibration_summary(result: Any) -> dict[str, Any]:
    """Return the same for a machine; nothing where nothing of it was estimated."""
    found: dict[str, Any] = {}
    if result.force_constants is not None:
        found['force_constants'] = result.force_constants.to_mapping()
    if result.payloads:
        found['payloads'] = [payload.to_mapping() for payload in result.payloads]
    return found


def processing_lines(result: IdentificationResult) -> list[str]:
    """Return one line a recording: its samples, and the periods or the filter."""
    lines = []
    recordings = result.diagnostics.data
    for number, each in enumerate(recordings):
        how, checked = each.signals, each.quality
        of = f' {number + 1}' if len(recordings) > 1 else ''
        start = f'data{of}:' if not checked else f'data{of}: {checked["samples"]} samples,'
        delay = '' if each.delay is None else f'; {_delay(each.delay)}'
        lines.append(f'{start} {_periodic(how) if "periods" in how else _filtered(how)}{delay}')
    return lines


def _periodic(how: Mapping[str, Any]) -> str:
    skipped = how.get('skipped_periods', 0)
    left_out = f', {skipped} before them left out as settling' if skipped else ''
    return (
        f'mean of {how["periods"]} periods of {how["period"]:.7g} s ({how["period_source"]})'
        f'{left_out}; {how["kept_harmonics"]} harmonics of the motion'
    )


def _filtered(how: Mapping[str, Any]) -> str:
    kind = 'local cubics' if how.get('method') == 'local_cubic' else 'filtered'
    text = f'no period, {kind} with a cutoff of {how["cutoff"]:.4g} Hz'
    return text + _chosen(how.get('band_choice'))


def _chosen(choice: Mapping[str, Any] | None) -> str:
    """Say how a band was chosen, and what the noise of the motion does in it."""
    if choice is None:
        return ''
    cutoffs = [trial['cutoff'] for trial in choice['trials']]
    tried = f'of {len(cutoffs)} from {cutoffs[0]:.3g} to {cutoffs[-1]:.3g} Hz'
    if choice.get('parts_agree', True):
        text = f', the best {tried} for parts of the data that are held out'
    else:
        text = f', the middle {tried}'
    predicted = choice.get('prediction')
    if predicted and predicted['cutoff'] > choice['cutoff']:
        text += f'; measured forces are predicted best up to {predicted["cutoff"]:.4g} Hz'
    bias = choice['noise_bias']
    if bias is None or max(bias) < SMALL_BIAS:
        return text
    return f'{text}; noise of the motion makes predicted forces wrong by {percent(max(bias))}'


def _delay(found: Delay) -> str:
    return f'efforts {1e3 * found.value:.4g} +- {1e3 * found.standard_deviation:.2g} ms later'


def fit_verdict(result: IdentificationResult) -> str:
    """Return in one sentence whether noise explains the residuals; '' where nothing is known."""
    fit = result.diagnostics.fit
    ratio = None if fit is None else fit.residual_variance_ratio
    is_set = result.guaranteed is not None  # the centre of a set is no best fit
    if is_set or ratio is None or not math.isfinite(ratio) or ratio <= LARGE:
        return ''
    return f'the residuals are {math.sqrt(ratio):.3g} times as large as noise explains: {CAUSES}'


def not_determined(result: IdentificationResult) -> str:
    """Name the parameters that the data do not determine; '' where there is none."""
    names = result.diagnostics.parameters.undetermined
    if not names:
        return ''
    more = f' and {len(names) - NAMED} more' if len(names) > NAMED else ''
    return f'not determined by these data (infinite variance): {", ".join(names[:NAMED])}{more}'


def interval_heading(result: IdentificationResult, level: float) -> str:
    """Return what the intervals of the parameters are."""
    if result.guaranteed is None:
        return f'{100 * level:g} %'
    outliers = result.diagnostics.own_as(EllipsoidDiagnostics).outliers
    return 'set' if outliers else 'guaranteed'
