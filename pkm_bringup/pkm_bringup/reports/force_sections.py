"""Sections about forces: predicted against measured ones, and what is left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pkm_bringup.reports.force_pictures import force_pictures, residual_pictures
from pkm_bringup.reports.model_sections import residual_tests
from pkm_bringup.reports.page_blocks import Block, Lines, Missing, Pictures, Section, TableBlock
from pkm_bringup.reports.report_run import Predicted, Run
from pkm_bringup.views.console import Column, table_of
from pkm_bringup.views.validation_view import (
    EPS_RA,
    TO_TRUTH_IN_BAND,
    grade_line,
    validation_lines,
    validation_table,
)
from pkm_dynamics import ClosedChainModel

OVERALL: dict[str, Column] = {
    'recording': 'recording',
    'periods averaged': lambda row: row['signals'].get('periods'),
    EPS_RA: lambda row: _percent(row['against_measured']),
    'noise explains it': lambda row: _unbiased(row['is_unbiased']),
    TO_TRUTH_IN_BAND: lambda row: _percent(row['against_truth_in_band']),
}


def prediction_section(run: Run) -> Section:
    """Forces of recordings that the model was not identified from."""
    key, heading = 'predictions', 'Predicted against measured forces'
    summaries = [(each.recording.name, each.validation.summary()) for each in run.predictions]
    summaries += [(Path(path).name, dict(found)) for path, found in run.validations]
    if not summaries:
        what = 'The model was not tried on a motion that it was not identified from.'
        model = run.files.models[0] if run.files.models else 'model.yaml'
        command = f'pkm report {run.files.place} --validate ANOTHER_RECORDING --output report.html'
        if run.result is None:
            what = 'No model predicts forces.'
            command = f'pkm validate DATA --robot {run.robot_argument} --model {model}'
        return Section(key, heading, (Missing(what, command),))
    blocks: list[Block] = []
    if len(summaries) > 1:
        rows = [{'recording': name, **found} for name, found in summaries]
        caption = 'Fewer periods average out less noise of the measured forces.'
        blocks.append(TableBlock(table_of(rows, columns_of(rows)), caption))
    name, first = summaries[0]
    if run.predictions and run.model is not None:
        found, units = run.predictions[0].validation, force_units(run.model)
        pictures = force_pictures(found, units)
        averaged = 'averaged over the periods' if found.period is not None else 'filtered'
        blocks.append(
            Pictures(
                pictures,
                f'Forces of {name}: measured ({averaged}) and predicted, with three standard '
                'deviations of the parameters around the prediction.',
            )
        )
    blocks.append(TableBlock(validation_table(first), f'Errors in {name} by joint.'))
    blocks.append(Lines((grade_line(first), *validation_lines(first))))
    return Section(key, heading, tuple(blocks))


def columns_of(rows: list[dict[str, Any]]) -> dict[str, Column]:
    """Columns of `OVERALL` of which one of the rows has something."""
    table = table_of(rows, OVERALL)
    has = [any(row[k] is not None for row in table.rows) for k in range(len(OVERALL))]
    pairs = zip(OVERALL.items(), has, strict=True)
    return {header: column for (header, column), is_there in pairs if is_there}


def residual_section(run: Run) -> Section | None:
    """What the model leaves of the forces that it was identified from, else of others."""
    if run.result is None or run.model is None:
        return None
    blocks = residual_tests(run)
    chosen: Predicted | None = next(iter((*run.fits, *run.predictions)), None)
    if chosen is not None:
        what = 'from which the model is' if chosen in run.fits else 'which the model does not know'
        known = chosen.validation.noise_covariance is not None
        noise = ' Dotted: one standard deviation of the noise.' if known else ''
        blocks.append(
            Pictures(
                residual_pictures(chosen.validation, force_units(run.model)),
                f'Residuals of {chosen.recording.name}, {what}. Grey: samples. Lines: their means, '
                f'over the position forwards (solid) and backwards (dashed).{noise}',
            )
        )
    elif not blocks:
        return None
    else:
        blocks.append(Missing('The recording that the model is from is not in this run.'))
    return Section('residuals', 'Residuals', tuple(blocks))


def force_units(model: ClosedChainModel) -> dict[str, str]:
    """Units of the forces, by joint."""
    types = {name: model.description.joint(name).type for name in model.actuated_joints}
    return {name: 'N' if kind == 'prismatic' else 'N m' for name, kind in types.items()}


def _percent(errors: Mapping[str, Any] | None) -> float | None:
    return None if errors is None else 100 * errors['relative_absolute_error_overall']


def _unbiased(fine: list[bool] | None) -> str | None:
    return None if fine is None else f'{sum(fine)} of {len(fine)}'
