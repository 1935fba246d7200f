"""Sections about an identified model: why the verdict, parameters, alternatives."""

from __future__ import annotations

from pkm_bringup.reports.model_pictures import band_picture, certainty_picture
from pkm_bringup.reports.page_blocks import Block, Lines, Missing, Pictures, Section, TableBlock
from pkm_bringup.reports.report_run import Run
from pkm_bringup.views.band_picture import EXPLAINED
from pkm_bringup.views.console import table_of
from pkm_bringup.views.identification_view import (
    calibration_tables,
    conclusions,
    drive_term_tables,
    evidence,
    parameter_table,
    remarks,
    residual_table,
)
from pkm_description.errors import EstimationError

LEVEL = 0.95  # of the intervals
VERDICTS = {
    'parameter': 'name',
    'identified': 'verdict',
    '%': 'relative_standard_deviation',
    'estimate': 'value',
}


def parameter_section(run: Run) -> Section:
    """Parameters with intervals and what they stand for, and how well each is known."""
    key, heading = 'parameters', 'Parameters'
    found = run.identified
    if found is None:
        command = f'pkm identify {_recording(run)} --robot {run.robot_argument} --output model.yaml'
        return Section(key, heading, (Missing('No model was identified in this run.', command),))
    known = found.identifiability
    blocks: list[Block] = [
        Pictures(
            (certainty_picture(known),),
            'How well each parameter is known: its standard deviation as a share of its value. '
            'An impossible sign is one that no real body or friction has.',
            is_wide=True,
        ),
        TableBlock(
            parameter_table(found.result, LEVEL),
            'Estimates with standard deviations and intervals, and the combination of the '
            'parameters of bodies and joints that each stands for. SI units.',
        ),
        *_calibration(run),
        Lines(tuple(conclusions(found))),
        TableBlock(table_of(known.rows(), VERDICTS), 'What is properly identified', folded=True),
    ]
    return Section(key, heading, tuple(blocks))


def _calibration(run: Run) -> list[Block]:
    """Return force constants and payloads that were estimated with the model."""
    blocks: list[Block] = []
    for table, lines in calibration_tables(run.result) if run.result is not None else ():
        blocks += [TableBlock(table), *([Lines(tuple(lines))] if lines else [])]
    return blocks


def residual_tests(run: Run) -> list[Block]:
    """Return the residuals of the identification against its noise."""
    if run.result is None or not run.result.residual_analysis:
        return []
    return [
        TableBlock(
            residual_table(run.result),
            'Residuals of the identification against the noise of the averaged forces. p noise: '
            'chance of residuals as large if the noise is all there is; p white: of a spectrum as '
            'uneven. Small values say that the model lacks something.',
        )
    ]


def alternative_section(run: Run) -> Section | None:
    """Bands and terms of the drives that were tried, each with its held-out error."""
    result = run.result
    if result is None:
        return None
    blocks: list[Block] = []
    try:
        blocks.append(Pictures((band_picture(result),), f'Bands: {EXPLAINED}.', is_wide=True))
    except EstimationError as error:
        blocks.append(Lines((str(error),)))
    tables = drive_term_tables(result)
    blocks += [
        TableBlock(
            table,
            'Terms of the drives in the order in which they were tried: the error of held-out '
            'forces of these drives without and with each.',
        )
        for table in tables
    ]
    if not tables and run.is_redundant:
        blocks.append(Missing('Terms of redundant drives are not tried.'))
    elif not tables:
        data = ' '.join(str(each.get('source', 'DATA')) for each in result.provenance.data)
        command = f'pkm identify {data} --robot {run.robot_argument} --friction auto'
        command += ' --output model_2.yaml'
        blocks.append(Missing('No other terms of the drives were tried.', command))
    return Section('alternatives', 'Bands and friction that were tried', tuple(blocks))


def evidence_section(run: Run) -> Section | None:
    """What the verdict rests on: data, clock, residuals, friction, and what was remarked."""
    if run.result is None:
        return None
    lines = (*evidence(run.result), *remarks(run.result))
    return Section('evidence', 'What the verdict rests on', (Lines(lines),))


def _recording(run: Run) -> str:
    return run.recordings[0].path if run.recordings else 'DATA'
