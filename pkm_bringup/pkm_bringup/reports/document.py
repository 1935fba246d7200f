"""A report as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from pkm_bringup.outputs import write_output
from pkm_bringup.reports.page_blocks import Page
from pkm_bringup.reports.report_run import Tell, read_run
from pkm_bringup.reports.run_files import RunFiles
from pkm_bringup.reports.run_report import comparison_of, report_of
from pkm_bringup.scene.page import player_script, player_style
from pkm_bringup.views.console import json_text

FOOTER = 'Made by pkm report. Numbers in full precision are in the page, as JSON (id "values").'


def document(page: Page) -> str:
    """Return the text of a page that needs neither server nor network."""
    values = json_text(page.values).replace('<', '\\u003c')  # no `</script>` may stand inside
    return _template().render(
        page=page,
        values=values,
        style=_asset('report.css'),
        player_style=player_style(),
        player_script=player_script(),
        footer=FOOTER,
    )


def write_report(
    runs: Sequence[RunFiles],
    output: Path,
    robot: str = '',
    further: Sequence[str] = (),
    loading: Mapping[str, Any] | None = None,
    tell: Tell = lambda phase: None,
) -> Page:
    """Write the page of one run, or of two that are compared, to a new file; see `read_run`."""
    read = [read_run(files, robot, further, loading, tell) for files in runs]
    page = report_of(read[0], tell) if len(read) == 1 else comparison_of(read[0], read[1], tell)
    tell('writing')
    text = document(page)
    write_output(output, lambda path: path.write_text(text, encoding='utf-8'))
    return page


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_asset('report.html.j2'))


def _asset(name: str) -> str:
    return (files('pkm_bringup.reports') / name).read_text(encoding='utf-8')
