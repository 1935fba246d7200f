"""What `pkm compare` prints and draws."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pkm_bringup.views.console import print_table
from pkm_bringup.views.excitation_picture import parameter_label
from pkm_bringup.views.validation_view import EPS_RA, TO_TRUTH, TO_TRUTH_IN_BAND, explained
from pkm_dynamics import ClosedChainModel
from pkm_identification.model_selection.model_comparison import Candidate, best

LEAST, MOST = 1e-3, 1e3  # relative deviations that are drawn, the others at the edge
COLUMNS = {
    'parameters': 'parameters',
    'rigid': 'rigid_body',
    'proper': 'proper',
    EPS_RA: 'error',
    f'held-out {EPS_RA}': 'held_out',
    f'held-out {TO_TRUTH_IN_BAND}': 'held_out_truth',
    'covered [%]': 'coverage',
    'median parameter error [%]': 'median_parameter_error',
    'largest parameter sd [%]': 'largest_relative_standard_deviation',
    'physical': 'is_physical',
    'condition': 'condition_number',
    'time [s]': 'seconds',
}
USUAL = 'wls'  # the estimator that others are compared with
SHARES = ('error', 'held_out', 'held_out_truth', 'coverage', 'median_parameter_error')


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print the table, and below it why something failed."""
    shown = {
        title: key
        for title, key in COLUMNS.items()
        if any(row.get(key) is not None for row in rows)
    }
    table = []
    for row in rows:
        if row.get('parameters') is None:
            table.append([row['name'], *['failed'] * bool(shown), *[None] * (len(shown) - 1)])
            continue
        values = ((row.get(key), 100 if key in SHARES else 1) for key in shown.values())
        table.append(
            [row['name']]
            + [float(f'{by * x:.3g}') if isinstance(x, float) else x for x, by in values]
        )
    if shown:
        print_table(['', *shown], table)
        told = [EPS_RA] + [TO_TRUTH, TO_TRUTH_IN_BAND] * ('held_out_truth' in shown.values())
        sys.stdout.write(''.join(f'{line}\n' for line in ('', *explained(*told))))
    failures: dict[str, list[str]] = {}
    for row in rows:
        if row['failure']:
            failures.setdefault(row['failure'], []).append(row['name'])
    lines = [f'{", ".join(names)}: {failure}\n' for failure, names in failures.items()]
    sys.stdout.write(''.join(['\n' * bool(lines), *lines]))


def print_best(candidates: Sequence[Candidate]) -> None:
    """Say in one sentence what to use."""
    found = best(candidates)
    if found is None:
        sys.stdout.write('\nno held-out forces were predicted: nothing tells which to use\n')
        return
    row = found.row()
    error = f'an eps_RA of {100 * row["held_out"]:.3g} %'
    text = f'use {found.name}: it predicts held-out forces with {error}'
    usual = next((each.row() for each in candidates if each.name == USUAL), None)
    if usual is not None and found.name != USUAL and usual.get('held_out') is not None:
        text += f' ({USUAL}: {100 * usual["held_out"]:.3g} %)'
    text += '' if row['is_physical'] else '; the controller takes the nearest physical model'
    sys.stdout.write(f'\n{text}\n')


def plot_comparison(candidates: Sequence[Candidate], model: ClosedChainModel, path: Path) -> None:
    """Draw errors, and the estimates relative to the nominal values with their deviations."""
    from matplotlib.figure import Figure

    done = [candidate for candidate in candidates if candidate.result is not None]
    count = max((len(each.result.names) for each in done if each.result), default=1)
    height = max(5.0, 1.5 + 0.3 * count, 1.5 + 0.5 * len(candidates))
    figure = Figure(figsize=(16, height), layout='constrained')
    axes = figure.subplots(1, 2, width_ratios=(2, 3))
    _draw_errors(axes[0], candidates)
    _draw_parameters(axes[1], done, model)
    figure.suptitle(f'{model.description.name}: {len(done)} of {len(candidates)} identified')
    figure.savefig(path, dpi=110)


def _draw_errors(axis: Any, candidates: Sequence[Candidate]) -> None:
    kinds = (
        ('error', 'data identified from', 'C0'),
        ('held_out', 'held out', 'C1'),
        ('held_out_truth', 'held out, to the truth, in band', 'C2'),
    )
    rows = [candidate.row() for candidate in candidates]
    shown = [kind for kind in kinds if any(row.get(kind[0]) is not None for row in rows)]
    place = np.arange(len(rows))[::-1]
    height = 0.8 / max(len(shown), 1)
    for number, (key, label, colour) in enumerate(shown):
        values = [100 * row[key] if row.get(key) is not None else np.nan for row in rows]
        at = place + 0.4 - (number + 0.5) * height
        bars = axis.barh(at, values, 0.9 * height, color=colour, label=label)
        texts = [f'{value:.3g}' if np.isfinite(value) else '' for value in values]
        axis.bar_label(bars, texts, padding=3, fontsize=7)
    labels = []
    for y, row in zip(place, rows, strict=True):
        if row.get('parameters') is None:
            labels.append(row['name'])
            look = {'va': 'center', 'color': '0.4', 'style': 'italic'}
            axis.text(0.02, y, 'failed', transform=axis.get_yaxis_transform(), **look)
        else:
            verdict = 'physical' if row['is_physical'] else 'not physical'
            labels.append(f'{row["name"]}\n{row["proper"]} of {row["parameters"]}, {verdict}')
    axis.set_yticks(place, labels, fontsize='small')
    axis.set_ylim(-0.6, len(rows) - 0.4)
    axis.margins(x=0.12)
    axis.set_xlabel(f'{EPS_RA}, relative absolute error')
    axis.set_title('errors; properly identified parameters')
    axis.grid(axis='x', alpha=0.25)
    if shown:
        names = axis.get_legend_handles_labels()
        axis.figure.legend(*names, fontsize='small', loc='outside lower left', ncols=len(shown))


def _draw_parameters(axis: Any, done: Sequence[Candidate], model: ClosedChainModel) -> None:
    """Relative standard deviation of each parameter, one mark a candidate."""
    labels: dict[str, str] = {}
    for each in done:
        if each.result:
            pairs = zip(each.result.names, each.result.expressions, strict=True)
            labels |= {name: parameter_label(text) for name, text in pairs if name not in labels}
    names = list(labels)
    place = {name: len(names) - 1 - index for index, name in enumerate(names)}
    for number, candidate in enumerate(done):
        result, found = candidate.result, candidate.identifiability
        assert result is not None and found is not None
        shift = 0.6 * (0.5 - (number + 0.5) / len(done))
        known = found.is_estimated
        y = np.array([place[name] for name in result.names])[known] + shift
        x = np.clip(np.nan_to_num(found.relative[known], nan=MOST, posinf=MOST), LEAST, MOST)
        impossible = ~found.is_possible[known]
        colour = f'C{number % 10}'
        mark = 'osD^v<>p*h'[(number // 10 + number) % 10]
        for chosen, look in (
            (~impossible, {'markersize': 4, 'label': candidate.name}),
            (impossible, {'markersize': 5, 'markerfacecolor': 'white'}),
        ):
            axis.plot(x[chosen], y[chosen], mark, color=colour, **look)
    threshold = done[0].identifiability.threshold if done and done[0].identifiability else 15.0
    axis.axvline(threshold, color='0.3', linestyle='--', linewidth=1)
    axis.set_xscale('log')
    axis.set_yticks(list(place.values()), list(labels.values()), fontsize='x-small')
    axis.set_ylim(-0.6, len(names) - 0.4)
    axis.set_xlabel('relative standard deviation [%]')
    axis.set_title(
        f'certainty; dashed: {threshold:g} %; hollow: impossible sign; at the right edge: more'
    )
    axis.grid(alpha=0.25)
    if done:
        axis.legend(fontsize='x-small', loc='center left', bbox_to_anchor=(1.0, 0.5))
