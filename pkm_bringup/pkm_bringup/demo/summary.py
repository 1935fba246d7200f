"""What the demo prints and writes down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pkm_bringup.demo.scenario import HIGH_GAINS, DemoResult
from pkm_dynamics import ClosedChainModel
from pkm_identification import Validation


def parameter_table(result: DemoResult) -> Table:
    """Parameters: estimate, standard deviation, truth, distance in standard deviations."""
    table = Table(title='Identified parameters (unmodelled effects off)')
    table.add_column('parameter', no_wrap=True)
    for name in ('estimate', 'std. deviation', 'truth', 'error / std.'):
        table.add_column(name, justify='right')
    table.add_column('unit', no_wrap=True)
    table.add_column('stands for')
    found = result.modelled.result
    for name, value, deviation, truth, unit, expression in zip(
        found.names,
        found.values,
        found.standard_deviation,
        result.truth,
        found.units,
        found.expressions,
        strict=True,
    ):
        table.add_row(
            name,
            f'{value:.4f}',
            f'{deviation:.4f}',
            f'{truth:.4f}',
            f'{(value - truth) / deviation:+.2f}',
            unit,
            '' if expression == name else expression,
        )
    return table


def prediction_table(result: DemoResult) -> Table:
    """Force-prediction errors against the noise-free forces and against the measured ones."""
    table = Table(title='Force prediction: relative absolute error')
    for name in (
        'motion',
        'plant',
        'against noise-free',
        'noise-free, in band',
        'against measured',
        'unbiased axes',
    ):
        table.add_column(name, justify='left' if name in ('motion', 'plant') else 'right')
    for plant, identification in (
        ('as modelled', result.modelled),
        ('+ Stribeck, cogging', result.unmodelled),
    ):
        for motion, validation in (
            ('circle', identification.circle),
            ('mirrored circle', identification.mirrored),
        ):
            assert validation is not None
            figures = prediction_figures(validation)
            unbiased = figures['unbiased_axes']
            table.add_row(
                motion,
                plant,
                f'{figures["truth"]:.2%}',
                f'{figures["truth_in_band"]:.2%}',
                f'{figures["measured"]:.2%}',
                '-' if unbiased is None else str(unbiased),
            )
    return table


def prediction_figures(validation: Validation) -> dict[str, Any]:
    """Overall relative absolute errors of one validation."""
    truth, band = validation.against_truth, validation.against_truth_in_band
    unbiased = validation.is_unbiased
    return {
        'truth': None if truth is None else truth.overall,
        'truth_in_band': None if band is None else band.overall,
        'measured': validation.against_measured.overall,
        'unbiased_axes': None
        if unbiased is None
        else f'{int(np.sum(unbiased))} of {len(unbiased)}',
    }


def tracking_table(result: DemoResult) -> Table:
    """RMS actuator tracking errors of the circle."""
    table = Table(title='Tracking of the circle: RMS actuator error')
    table.add_column('feedforward')
    for name in (
        'error [mm]',
        'times smaller',
        f'gains x {HIGH_GAINS:g}: error [mm]',
        'times smaller',
    ):
        table.add_column(name, justify='right')
    for name, rms in result.tracking.items():
        high = result.high_gain_tracking.get(name)
        table.add_row(
            name,
            f'{_millimetres(rms):.4f}',
            f'{result.factors[name]:.1f}',
            '-' if high is None else f'{_millimetres(high):.4f}',
            '-' if high is None else f'{result.high_gain_factors[name]:.1f}',
        )
    return table


def _millimetres(rms: Any) -> float:
    return 1e3 * float(np.sqrt(np.mean(np.square(rms))))


def as_dict(result: DemoResult, model: ClosedChainModel, files: dict[str, Path]) -> dict[str, Any]:
    """Everything as plain numbers and texts."""

    def identification(item: Any) -> dict[str, Any]:
        found = item.result
        return {
            'bag': str(item.bag),
            'model': str(item.model_file),
            'estimator': found.estimator,
            'is_physical': found.is_physical,
            'circle': prediction_figures(item.circle),
            'mirrored_circle': prediction_figures(item.mirrored),
        }

    found = result.modelled.result
    return {
        'robot': model.description.name,
        'parameters': [
            {
                'name': n,
                'expression': e,
                'unit': u,
                'estimate': float(v),
                'standard_deviation': float(s),
                'truth': float(t),
            }
            for n, e, u, v, s, t in zip(
                found.names,
                found.expressions,
                found.units,
                found.values,
                found.standard_deviation,
                result.truth,
                strict=True,
            )
        ],
        'fraction_within_three_standard_deviations': result.within_three,
        'as_modelled': identification(result.modelled),
        'with_unmodelled_effects': identification(result.unmodelled),
        'tracking_rms': {k: np.asarray(v).tolist() for k, v in result.tracking.items()},
        'tracking_factors': result.factors,
        'high_gain_tracking_rms': {
            k: np.asarray(v).tolist() for k, v in result.high_gain_tracking.items()
        },
        'high_gain_tracking_factors': result.high_gain_factors,
        'files': {name: str(path) for name, path in files.items()},
    }


def print_summary(console: Console, result: DemoResult, files: dict[str, Path]) -> None:
    """Print the tables and the paths."""
    console.print(parameter_table(result))
    inside = round(result.within_three * len(result.truth))
    console.print(
        f'{inside} of {len(result.truth)} parameters within three standard deviations of the truth'
    )
    console.print(prediction_table(result))
    console.print(tracking_table(result))
    for name, path in files.items():
        console.print(f'{name}: {path}', soft_wrap=True, highlight=False)
