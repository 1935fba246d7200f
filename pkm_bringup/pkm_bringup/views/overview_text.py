"""The text of `pkm describe`: a head, then one table a section."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from pkm_bringup.views.console import Column, print_columns, print_table

WIDTH = 100


def print_overview(content: dict[str, Any], every: bool = False) -> None:
    """Print the overview; links of one design stand in one line unless `every`."""
    _print_head(content)
    _print_links(content, every)
    _print_joints(content)
    _print_drive_terms(content['drive_terms'])
    _print_motors(content['motors'])
    _print_constraints(content)
    _print_base(content.get('base_parameters', {}), 'shown_sources' in content)
    _print_list('sources', [f'{k}: {v}' for k, v in _pairs(content.get('shown_sources'))])
    _print_list('warnings', content['warnings'])


def _print_head(content: dict[str, Any]) -> None:
    home = content['home']
    scalar = [joint for joint in content['joints'] if joint['role'] in ('drive', 'free', 'passive')]
    passive = sum(joint['role'] == 'passive' for joint in scalar)
    free = f'{len(content["free_joints"])} free, ' if content['free_joints'] else ''
    loops, redundant = len(content['constraints']), content['redundant_rows']
    closing = f'{loops} closing constraint{"s" if loops > 1 else ""}, {content["closing_rows"]} '
    closing += f'rows, {redundant} of them redundant' if redundant else 'rows, none redundant'
    all_moves = content['moving_mass'] >= content['total_mass'] * (1.0 - 1e-12)
    moving = 'all' if all_moves else f'{content["moving_mass"]:.5g} kg'
    joints = f'{len(content["links"])} links, {len(content["joints"])} joints '
    joints += f'({len(content["drives"])} with a drive, {free}{passive} passive)'
    at = f'platform at ({_triple(home["position"])}) m, rpy ({_triple(home["rpy"])}) rad; '
    at += 'declared' if home['declared'] else 'found by the loader'
    gap = f', closure gap {home["closure_gap"]:.1e} m' if loops else ''
    lines = [
        ('mobility', f'{content["mobility"]}: {_counted(content)}'),
        *_spin_lines(content['idle_spins']),
        ('tree', joints),
        ('loops', closing if loops else 'none'),
        ('mass', f'{content["total_mass"]:.5g} kg, {moving} of it moves'),
        ('gravity', f'({_triple(content["gravity"])}) m/s^2'),
        ('home', at + gap),
        *_workspace_lines(content['workspace']),
        *_parameter_lines(content),
    ]
    sys.stdout.write(f'{content["name"]}: {content["title"] or "no title"}\n{content["path"]}\n\n')
    for label, text in lines:
        sys.stdout.write(f'{label:<12}{text}\n')


def _counted(content: dict[str, Any]) -> str:
    drives, free = len(content['drives']), content['free_joints']
    text = f'{drives} drive{"" if drives == 1 else "s"}'
    redundant = content['redundant_drives']
    text += f', {len(redundant)} of them redundant ({", ".join(redundant)})' if redundant else ''
    return text + (f' and {len(free)} free ({", ".join(free)})' if free else '')


def _spin_lines(spins: list[dict[str, Any]]) -> list[tuple[str, str]]:
    if not spins:
        return []
    bodies = ', '.join(spin['body'] for spin in spins)
    return [('idle spins', f'{len(spins)} ({bodies}): not measured, without force')]


def _workspace_lines(workspace: dict[str, Any]) -> list[tuple[str, str]]:
    if not workspace:
        return []
    lower = workspace.get('position_lower', [-math.inf] * 3)
    upper = workspace.get('position_upper', [math.inf] * 3)
    parts = [
        f'{axis} {low:.4g} to {high:.4g} m'
        for axis, low, high in zip('xyz', lower, upper, strict=True)
    ]
    tilt = f', tilt up to {workspace["tilt"]:.4g} rad' if 'tilt' in workspace else ''
    return [('workspace', ', '.join(parts) + tilt)]


def _parameter_lines(content: dict[str, Any]) -> list[tuple[str, str]]:
    lines = [('parameters', f'{content["standard_parameters"]} standard')]
    others = 'friction, rotors and drives' if content['drive_terms'] else 'friction and rotors'
    for rank in content.get('ranks', []):
        what = (('shared', 'designs shared'), ('reduced', 'zero parameters left out'))
        how = ' and '.join(text for key, text in what if rank[key]) or 'each body on its own'
        kinds = f'{rank["rigid_body"]} of rigid bodies, {rank["friction_and_rotor"]} of {others}'
        lines.append(('', f'{rank["rank"]} base ({kinds}), {how}'))
    return lines


def _print_links(content: dict[str, Any], every: bool) -> None:
    groups = [] if every else content['same_design']
    others = {name for group in groups for name in group[1:]}
    size_of = {group[0]: len(group) for group in groups}
    rows = []
    for link in content['links']:
        name, inertia, count = link['name'], link['inertia'], size_of.get(link['name'], 1)
        is_ground = link['mass'] == 0.0 and name == content['base_link']
        row = (
            name + (f' (1 of {count} equal)' if count > 1 else ''),
            link['mass'],
            '-' if link['com'] is None else _triple(link['com']),
            '-' if inertia is None else _triple(np.diagonal(inertia)),
            '-' if inertia is None else _products(inertia),
            '-' if is_ground else link['physical'],
        )
        if name not in others:
            rows.append(row)
    header = ('body', 'mass', 'centre of mass', 'Ixx, Iyy, Izz about it', 'Ixy, Ixz, Iyz')
    print_table((*header, 'physical'), rows, '\nBODIES (kg, m, kg m^2)')


def _print_joints(content: dict[str, Any]) -> None:
    columns: dict[str, Column] = {
        'joint': 'name',
        **{key: key for key in ('role', 'type', 'parent', 'child')},
        'home': lambda joint: _short(joint['home']),
        'range': lambda joint: _range(joint['lower'], joint['upper']),
        'speed': lambda joint: _finite(joint['velocity']),
        'effort': lambda joint: _finite(joint['effort']),
        'Coulomb': _coulomb,
        'viscous': 'viscous',
        'rotor': 'rotor_inertia',
        'N/A': lambda joint: _finite(joint['force_constant']),
    }
    units = 'm, rad, s, N, N m; Coulomb: -/+ where they differ; N/A: force constant'
    if all(joint['rotor_inertia'] is None for joint in content['joints']):
        del columns['rotor']
    else:
        units += '; rotor: kg, kg m^2 at the joint'
    print_columns(content['joints'], columns, f'\nJOINTS ({units})')


def _print_drive_terms(terms: dict[str, Any]) -> None:
    if not terms:
        return
    rows = []
    for joint, content in terms.items():
        ripple = content.get('ripple', {})
        pairs = zip(ripple.get('cosine', []), ripple.get('sine', []), strict=True)
        waves = [_short(math.hypot(*pair)) for pair in pairs]
        harmonics = map(str, ripple.get('harmonics', []))
        plain = [content.get(key) for key in ('offset', 'stiffness', 'rest', 'presliding')]
        of_ripple = ripple.get('period'), ', '.join(harmonics), ', '.join(waves)
        warm = ', '.join(f'{time:g}' for time in content.get('warm_up', {}).get('times', []))
        rows.append((joint, *plain, *of_ripple, warm))
    plain_names = ('offset', 'stiffness', 'rest', 'presliding')
    header = ('joint', *plain_names, 'ripple period', 'harmonics', 'amplitudes', 'warm-up')
    print_table(header, rows, '\nDRIVE TERMS (N, N m; N/m, N m/rad; m, rad; s)')


def _print_motors(motors: list[dict[str, Any]]) -> None:
    if not motors:
        return
    columns: dict[str, Column] = {
        'motor': 'name',
        'transmission': 'transmission',
        'turns': lambda motor: ' '.join(f'{turn:+.6g} {j}' for j, turn in motor['turns'].items()),
        'rotor': 'rotor_inertia',
        'Coulomb': _coulomb,
        'viscous': 'viscous',
        'N m/A': lambda motor: _finite(motor['force_constant']),
    }
    print_columns(motors, columns, '\nMOTORS (rad, s, N m, kg m^2; turns: by those of joints)')


def _print_constraints(content: dict[str, Any]) -> None:
    if not content['constraints']:
        return
    columns: dict[str, Column] = {'constraint': 'name'}
    columns |= {key: key for key in ('type', 'parent', 'child', 'rows', 'redundant')}
    columns |= {'Coulomb': _coulomb, 'viscous': 'viscous'}
    print_columns(content['constraints'], columns, '\nLOOP CLOSURES')


def _print_base(base: dict[str, Any], sources: bool) -> None:
    if 'parameters' not in base:
        return
    columns: dict[str, Column] = {key: key for key in ('name', 'nominal', 'unit', 'expression')}
    print_columns(base['parameters'], columns, '\nBASE PARAMETERS')
    origins = [
        f'{label} in {item["name"]}: {text}'
        for item in base['parameters']
        for label, text in item['sources'].items()
    ]
    _print_list('coefficients of the base parameters', origins if sources else [])
    _print_list('notes on the base parameters', base['notes'])


def _print_list(title: str, items: list[str]) -> None:
    if not items:
        return
    sys.stdout.write(f'\n{title.upper()}\n')
    for item in items:
        sys.stdout.write(textwrap.fill(item, WIDTH, initial_indent='- ', subsequent_indent='  '))
        sys.stdout.write('\n')


def _pairs(sources: Any) -> list[tuple[str, Any]]:
    if not sources:
        return []
    return list(sources.items()) if isinstance(sources, dict) else [('all', sources)]


def _triple(values: Any) -> str:
    return ', '.join(_short(value) or '-' for value in values)


def _products(inertia: Any) -> str:
    products = [inertia[0][1], inertia[0][2], inertia[1][2]]
    largest = float(np.max(np.abs(inertia)))
    return '0' if np.max(np.abs(products)) <= 1e-12 * largest else _triple(products)


def _short(value: float | None) -> str:
    return '' if value is None else f'{0.0 if abs(value) < 1e-12 else value:.4g}'


def _coulomb(item: Mapping[str, Any]) -> Any:
    if item['friction_model'] in ('asymmetric', 'asymmetric_coulomb'):
        return f'{item["coulomb_negative"]:.6g}/{item["coulomb"]:.6g}'
    return item['coulomb']


def _range(lower: float, upper: float) -> str:
    if math.isinf(lower) and math.isinf(upper):
        return '-'
    return f'{lower:.4g} to {upper:.4g}'


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
