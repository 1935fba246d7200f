"""The report of one run, and of two side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pkm_bringup.reports.force_sections import prediction_section, residual_section
from pkm_bringup.reports.model_sections import (
    LEVEL,
    alternative_section,
    evidence_section,
    parameter_section,
)
from pkm_bringup.reports.motion_sections import (
    data_section,
    excitation_of,
    excitation_section,
    robot_section,
    tracking_section,
)
from pkm_bringup.reports.page_blocks import Block, Missing, Page, Section
from pkm_bringup.reports.provenance_section import provenance_of, provenance_section
from pkm_bringup.reports.report_run import Run, Tell
from pkm_bringup.reports.run_comparison import comparison_section, comparison_values
from pkm_bringup.reports.run_summary import summary_of
from pkm_bringup.views.identification_view import summary
from pkm_bringup.views.tracking_view import tracking_rows
from pkm_description.errors import PkmError


def report_of(run: Run, tell: Tell = lambda phase: None) -> Page:
    """Return the page of one run."""
    tell('the excitation')
    excitation, refusal, provenance = None, '', provenance_of(run)
    try:
        excitation = excitation_of(run)
    except PkmError as error:
        refusal = str(error)
    tell('drawing')
    sections = (
        evidence_section(run),
        robot_section(run),
        prediction_section(run),
        tracking_section(run),
        residual_section(run),
        parameter_section(run),
        alternative_section(run),
        excitation_section(run, excitation, refusal),
        data_section(run),
        provenance_section(run, provenance),
    )
    kept = _missing_last([each for each in sections if each is not None])
    values = values_of(run) | {'excitation': excitation, 'provenance': provenance}
    subtitle = f'{_robot(run)}; run {run.name}'
    return Page(run.robot or run.name, subtitle, summary_of(run), kept, values)


def _robot(run: Run) -> str:
    if run.model is None:
        return 'a robot that the files do not name'
    return str(run.model.description.sidecar.get('title', '')) or run.robot


def _missing_last(sections: list[Section]) -> tuple[Section, ...]:
    """Return the sections with those that only say what is missing as one, before the last."""
    there: list[Section] = []
    missing: list[Block] = []
    for section in sections:
        if all(isinstance(block, Missing) for block in section.blocks):
            missing += section.blocks
        else:
            there.append(section)
    if missing:
        there.insert(-1, Section('missing', 'What is not in this run', tuple(missing)))
    return tuple(there)


def values_of(run: Run) -> dict[str, Any]:
    """Return the numbers of a run as the verbs with --json print them."""
    found: dict[str, Any] = {'run': run.name, 'robot': run.robot}
    if run.identified is not None:
        found['model'] = summary(run.identified, str(run.files.models[0]), LEVEL)
    predictions = {each.recording.path: each.validation.summary() for each in run.predictions}
    found['validations'] = predictions | dict(run.validations)
    found['fits'] = {each.recording.path: each.validation.summary() for each in run.fits}
    found['tracking'] = [tracking_rows(runs) for runs in run.tracked]
    found['recordings'] = {each.path: each.look.to_dict() for each in run.recordings}
    return found


def comparison_of(first: Run, second: Run, tell: Tell = lambda phase: None) -> Page:
    """Return the page of two runs: what differs, then the one after the other."""
    runs = (first, second)
    pages = [report_of(run, tell) for run in runs]
    sections = [comparison_section(first, second)]
    for number, (run, page) in enumerate(zip(runs, pages, strict=True), start=1):
        sections += [_of_run(each, number, run.name) for each in page.sections]
    title = f'{first.name} and {second.name}'
    values: dict[str, Any] = {'runs': [page.values for page in pages]}
    values['comparison'] = comparison_values(first, second)
    subtitle = ' and '.join(dict.fromkeys(map(_robot, runs)))
    summaries = [
        replace(page.summary, grade=f'{run.name}: {page.summary.grade}')
        for run, page in zip(runs, pages, strict=True)
    ]
    return Page(title, subtitle, summaries[0], tuple(sections), values, summaries[1])


def _of_run(section: Section, number: int, title: str) -> Section:
    key = f'run{number}-{section.key}'
    return replace(section, key=key, heading=f'{section.heading} ({title})')
