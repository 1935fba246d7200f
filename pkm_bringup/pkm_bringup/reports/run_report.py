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
from pkm_bringup.reports.page_blocks import Page, Section
from pkm_bringup.reports.provenance_section import provenance_of, provenance_section
from pkm_bringup.reports.report_run import Run, Tell
from pkm_bringup.reports.run_comparison import comparison_section, comparison_values
from pkm_bringup.reports.run_summary import summary_of
from pkm_bringup.views.identification_view import summary
from pkm_bringup.views.tracking_view import tracking_rows


def report_of(run: Run, tell: Tell = lambda phase: None) -> Page:
    """Return the page of one run."""
    tell('the excitation')
    excitation, provenance = excitation_of(run), provenance_of(run)
    tell('drawing')
    sections = (
        evidence_section(run),
        robot_section(run),
        prediction_section(run),
        tracking_section(run),
        residual_section(run),
        parameter_section(run),
        alternative_section(run),
        excitation_section(run, excitation),
        data_section(run),
        provenance_section(run, provenance),
    )
    kept = tuple(each for each in sections if each is not None)
    values = values_of(run) | {'excitation': excitation, 'provenance': provenance}
    title = '' if run.model is None else str(run.model.description.sidecar.get('title', ''))
    subtitle = f'{title or "a robot that the files do not name"}; run {run.name}'
    return Page(run.robot or run.name, subtitle, summary_of(run), kept, values)


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
    pages = [report_of(run, tell) for run in (first, second)]
    sections = [comparison_section(first, second)]
    for number, page in enumerate(pages, start=1):
        sections += [_of_run(each, number, page.title) for each in page.sections]
    title = f'{pages[0].title} and {pages[1].title}'
    values: dict[str, Any] = {'runs': [page.values for page in pages]}
    values['comparison'] = comparison_values(first, second)
    subtitle = ' and '.join(dict.fromkeys(page.subtitle for page in pages))
    return Page(title, subtitle, pages[0].summary, tuple(sections), values, pages[1].summary)


def _of_run(section: Section, number: int, title: str) -> Section:
    key = f'run{number}-{section.key}'
    return replace(section, key=key, heading=f'{section.heading} ({title})')
