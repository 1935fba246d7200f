"""What the demo prints and writes down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pkm_bringup.demo.scenario import HIGH_GAINS, DemoResult, Identification, Plant
from pkm_dynamics import ClosedChainModel
from pkm_identification import Validation

PARAMETER = ('name', 'estimate', 'standard_deviation', 'truth', 'unit', 'expression')


def _table(
    title: str, texts: str | set[str], columns: Sequence[str], rows: Iterable[Sequence[str]]
) -> Table:
    """Return a table; columns named in `texts` to the left, the others to the right."""
    table = Table(title=title)
    for index, name in enumerate(columns):
        table.add_column(name, justify='left' if name in texts else 'right', no_wrap=index == 0)
    for row in rows:
        table.add_row(*row)
    return table


def parameters(identification: Identification) -> list[dict[str, Any]]:
    """Return name, estimate, standard deviation, truth, unit and meaning of each parameter."""
    found = identification.result
    arrays = (found.values, found.standard_deviation, identification.truth)
    numbers = (array.tolist() for array in arrays)
    columns = (found.names, *numbers, found.units, found.expressions)
    return [dict(zip(PARAMETER, row, strict=True)) for row in zip(*columns, strict=True)]


def print_parameters(console: Console, identification: Identification) -> None:
    """Print what was identified: estimate, deviation, truth, distance in standard deviations."""
    rows = [
        (
            each['name'],
            *(f'{each[key]:.4f}' for key in ('estimate', 'standard_deviation', 'truth')),
            f'{(each["estimate"] - each["truth"]) / each["standard_deviation"]:+.2f}',
            each['unit'],
            '' if each['expression'] == each['name'] else each['expression'],
        )
        for each in parameters(identification)
    ]
    texts = {'parameter', 'unit', 'stands for'}
    numbers = ('estimate', 'std. deviation', 'truth', 'error / std.')
    columns = ('parameter', *numbers, 'unit', 'stands for')
    console.print(_table('Identified parameters (unmodelled effects off)', texts, columns, rows))
    inside = round(identification.within_three * len(rows))
    console.print(
        f'{inside} of {len(rows)} parameters within three standard deviations of the truth'
    )


def prediction_figures(validation: Validation) -> dict[str, Any]:
    """Overall relative absolute errors of one validation."""
    truth, band = validation.against_truth, validation.against_truth_in_band
    unbiased = validation.is_unbiased
    axes = None if unbiased is None else f'{int(np.sum(unbiased))} of {len(unbiased)}'
    return {
        'truth': None if truth is None else truth.overall,
        'truth_in_band': None if band is None else band.overall,
        'measured': validation.against_measured.overall,
        'unbiased_axes': axes,
    }


def prediction_table(result: DemoResult) -> Table:
    """Force-prediction errors against the noise-free forces and against the measured ones."""
    rows = []
    for name, plant in (
        ('as modelled', result.modelled),
        ('+ Stribeck, cogging', result.unmodelled),
    ):
        for motion, validation in (('circle', plant.circle), ('mirrored circle', plant.mirrored)):
            figures = prediction_figures(validation)
            errors = [f'{figures[key]:.2%}' for key in ('truth', 'truth_in_band', 'measured')]
            rows.append((motion, name, *errors, figures['unbiased_axes'] or '-'))
    errors = ['against noise-free', 'noise-free, in band', 'against measured', 'unbiased axes']
    columns = ('motion', 'plant', *errors)
    return _table('Force prediction: relative absolute error', {'motion', 'plant'}, columns, rows)


def tracking_table(result: DemoResult) -> Table:
    """RMS actuator tracking errors of the circle."""

    def shown(figures: dict[str, float], name: str, scale: float, digits: int) -> str:
        return f'{scale * figures[name]:.{digits}f}' if name in figures else '-'

    plain, high = result.tracking, result.high_gain_tracking
    rows = [
        (
            name,
            shown(plain.overall, name, 1e3, 4),
            shown(plain.factors, name, 1.0, 1),
            shown(high.overall, name, 1e3, 4),
            shown(high.factors, name, 1.0, 1),
        )
        for name in plain.errors
    ]
    columns = ['feedforward', 'error [mm]', 'times smaller']
    columns += [f'gains x {HIGH_GAINS:g}: error [mm]', 'times smaller']
    return _table('Tracking of the circle: RMS actuator error', {'feedforward'}, columns, rows)


def as_dict(result: DemoResult, model: ClosedChainModel, files: dict[str, Path]) -> dict[str, Any]:
    """Everything as plain numbers and texts."""

    def plant(item: Plant) -> dict[str, Any]:
        found = item.identification
        return {
            'bag': str(found.bag),
            'model': str(found.model_file),
            'estimator': found.result.estimator,
            'is_physical': found.result.is_physical,
            'circle': prediction_figures(item.circle),
            'mirrored_circle': prediction_figures(item.mirrored),
        }

    content = {
        'robot': model.description.name,
        'parameters': parameters(result.modelled.identification),
        'fraction_within_three_standard_deviations': result.modelled.identification.within_three,
        'as_modelled': plant(result.modelled),
        'with_unmodelled_effects': plant(result.unmodelled),
    }
    for name, each in (
        ('tracking', result.tracking),
        ('high_gain_tracking', result.high_gain_tracking),
    ):
        content[f'{name}_rms'] = {key: rms.tolist() for key, rms in each.errors.items()}
        content[f'{name}_factors'] = each.factors
    content['files'] = {name: str(path) for name, path in files.items()}
    return content


def print_summary(console: Console, result: DemoResult, files: dict[str, Path]) -> None:
    """Print the tables of what came after the identification, and the paths."""
    console.print(prediction_table(result))
    console.print(tracking_table(result))
    for name, path in files.items():
        console.print(f'{name}: {path}', soft_wrap=True, highlight=False)
