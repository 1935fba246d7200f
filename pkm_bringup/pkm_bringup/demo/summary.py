"""What the demo prints, draws and writes down."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pkm_bringup.demo.scenario import HIGH_GAINS, DemoResult, Identification
from pkm_bringup.views.tracking_view import TrackedRun
from pkm_bringup.views.validation_view import EPS_RA, TO_TRUTH, TO_TRUTH_IN_BAND, explained
from pkm_dynamics import ClosedChainModel
from pkm_identification import Validation
from pkm_identification.result.verdict import verdict_of

MEASURED_COLOUR = '0.65'
SHOWN_TIME = 3.0  # [s]
COLOURS = ('#b2432f', '#d99a2b', '#2f6f8f')
ERRORS = (TO_TRUTH, TO_TRUTH_IN_BAND, EPS_RA, 'unbiased axes')
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
    """Return name, estimate, deviation, truth or None, unit and meaning of each parameter."""
    found = identification.result
    arrays = (found.values, found.standard_deviation)
    truth = [None if np.isnan(value) else float(value) for value in identification.truth]
    numbers = (array.tolist() for array in arrays)
    columns = (found.names, *numbers, truth, found.units, found.expressions)
    return [dict(zip(PARAMETER, row, strict=True)) for row in zip(*columns, strict=True)]


def print_parameters(console: Console, identification: Identification) -> None:
    """Print what was identified: estimate, deviation, truth, distance in standard deviations."""
    rows = [
        (
            each['name'],
            *(_number(each[key], '.4f') for key in ('estimate', 'standard_deviation', 'truth')),
            _distance(each),
            each['unit'],
            '' if each['expression'] == each['name'] else each['expression'],
        )
        for each in parameters(identification)
    ]
    texts = {'parameter', 'unit', 'stands for'}
    numbers = ('estimate', 'std. deviation', 'truth', 'error / std.')
    columns = ('parameter', *numbers, 'unit', 'stands for')
    console.print(_table('Identified parameters', texts, columns, rows))
    inside, known = identification.within_three
    console.print(
        f'{inside} of {known} parameters within three standard deviations of those of the '
        'description; what the robot does beyond it moves the others'
    )
    found = verdict_of(identification.result)
    if found is not None:
        console.print(found.line(), soft_wrap=True, highlight=False)


def _number(value: float | None, form: str) -> str:
    return '-' if value is None else f'{value:{form}}'


def _distance(parameter: dict[str, Any]) -> str:
    """Error in standard deviations."""
    if parameter['truth'] is None or not parameter['standard_deviation']:
        return '-'
    error = parameter['estimate'] - parameter['truth']
    return f'{error / parameter["standard_deviation"]:+.2f}'


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
    """Errors of predicted forces to the truth and to the measured ones."""
    rows = []
    for motion, validation in (('circle', result.circle), ('mirrored circle', result.mirrored)):
        figures = prediction_figures(validation)
        errors = [f'{100 * figures[key]:.2f}' for key in ('truth', 'truth_in_band', 'measured')]
        rows.append((motion, *errors, figures['unbiased_axes'] or '-'))
    columns = ('motion', *ERRORS)
    return _table('Predicted forces', {'motion'}, columns, rows)


def tracking_table(result: DemoResult) -> Table:
    """RMS actuator tracking errors of the circle."""

    def shown(figures: dict[str, float], name: str, scale: float, digits: int) -> str:
        return f'{scale * figures[name]:.{digits}f}' if name in figures else '-'

    figures = [
        figures
        for found in (result.tracking, result.high_gain_tracking)
        for figures in ((found.overall, 1e3, 4), (found.factors, 1.0, 1))
    ]
    rows = [
        (name, *(shown(values, name, scale, digits) for values, scale, digits in figures))
        for name in result.tracking.errors
    ]
    columns = ['feedforward', 'error [mm]', 'times smaller']
    columns += [f'gains x {HIGH_GAINS:g}: error [mm]', 'times smaller']
    return _table('Tracking of the circle: RMS actuator error', {'feedforward'}, columns, rows)


def as_dict(result: DemoResult, model: ClosedChainModel, files: dict[str, Path]) -> dict[str, Any]:
    """Everything as plain numbers and texts."""
    found = result.identification
    inside, known = found.within_three
    content = {
        'robot': model.description.name,
        'bag': str(found.recording),
        'model': str(found.model_file),
        'estimator': found.result.estimator,
        'is_physical': found.result.is_physical,
        'parameters': parameters(found),
        'within_three_standard_deviations': inside,
        'with_known_truth': known,
        'circle': prediction_figures(result.circle),
        'mirrored_circle': prediction_figures(result.mirrored),
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
    for line in explained(EPS_RA, TO_TRUTH, TO_TRUTH_IN_BAND):
        console.print(line, soft_wrap=True, highlight=False)
    console.print(tracking_table(result))
    for name, path in files.items():
        console.print(f'{name}: {path}', soft_wrap=True, highlight=False)


def draw_forces(validation: Validation, path: Path, title: str) -> Path:
    """Measured against predicted forces of each actuator, with the prediction's band."""
    names = [
        f'{name}   residual RMS {error:.1f} N'
        for name, error in zip(
            validation.joint_names, validation.against_measured.residual_rms, strict=True
        )
    ]
    figure, axes = _grid(names, 'force [N]', 'time in the period [s]', same_scale=False)
    time = validation.time - validation.time[0]
    for k, axis in enumerate(axes):
        predicted, spread = validation.predicted[:, k], 3 * validation.standard_deviation[:, k]
        told = 'measured, averaged over the periods'
        axis.plot(time, validation.measured[:, k], color=MEASURED_COLOUR, lw=0.6, label=told)
        look = {'alpha': 0.3, 'lw': 0, 'label': '3 standard deviations of the model'}
        axis.fill_between(time, predicted - spread, predicted + spread, color=COLOURS[2], **look)
        axis.plot(time, predicted, color=COLOURS[2], lw=1.4, label='predicted')
    return _save(figure, axes, path, title)


def draw_tracking(
    runs: dict[str, TrackedRun], joint_names: list[str], path: Path, title: str
) -> Path:
    """Position errors of each actuator over the circle, one line a run."""
    figure, axes = _grid(joint_names, 'error [mm]', 'time at full speed [s]', same_scale=True)
    for colour, (name, run) in zip(COLOURS, runs.items(), strict=False):
        shown = run.time <= SHOWN_TIME
        for k, axis in enumerate(axes):
            label = f'{name} ({1e3 * run.overall:.3f} mm RMS)'
            error = 1e3 * run.errors[shown, k]
            axis.plot(run.time[shown], error, color=colour, lw=0.9, label=label)
    return _save(figure, axes, path, title)


def _grid(titles: list[str], ylabel: str, xlabel: str, same_scale: bool) -> tuple[Any, list[Any]]:
    """Return a figure and one labelled pair of axes for each title, in two columns."""
    from matplotlib.figure import Figure

    rows = (len(titles) + 1) // 2
    figure = Figure(figsize=(11, 2.2 * rows + 1), layout='constrained')
    grid = figure.subplots(rows, 2, sharex=True, sharey=same_scale, squeeze=False)
    axes = list(grid.ravel()[: len(titles)])
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=9)
        axis.set_ylabel(ylabel, fontsize=8)
        axis.tick_params(labelsize=8)
        axis.grid(alpha=0.25)
    for axis in grid[-1]:
        axis.set_xlabel(xlabel, fontsize=8)
    for axis in grid.ravel()[len(titles) :]:
        axis.set_visible(False)
    return figure, axes


def _save(figure: Any, axes: list[Any], path: Path, title: str) -> Path:
    """Write the figure with one legend below it."""
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside lower center', ncol=3, fontsize=9, frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    return path
