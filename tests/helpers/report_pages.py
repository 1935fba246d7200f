"""Pages of `pkm report`: what they hold, their numbers against files, and a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from pkm_bringup.views.console import cell_text

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
FLAGS = (
    *('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--no-first-run'),
    *('--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'),
    *('--virtual-time-budget=5000', '--enable-logging=stderr', '--allow-file-access-from-files'),
)
LARGEST = 5_000_000  # bytes of a page
LOADED = ('src', 'srcset', 'poster', 'data', 'href', 'xlink:href', 'style')  # what a tag loads
ELSEWHERE = re.compile(r'(^|,|url\(\s*["\']?|@import\s+["\']?)\s*(https?:)?//', re.IGNORECASE)
FETCHED = re.compile(r'\b(fetch|import|open)\s*\(?\s*["\'](https?:)?//')  # by a script
FRAMES = """<!doctype html><iframe id="wide" style="width: 1280px" src="report.html"></iframe>
<iframe id="phone" style="width: 390px" src="report.html"></iframe><script>
addEventListener('load', () => { for (const frame of document.querySelectorAll('iframe')) {
  const page = frame.contentDocument, root = page.documentElement;
  const drawn = [...page.querySelectorAll('svg')].filter(each => each.getBBox().width > 0);
  frame.dataset.overflow = root.scrollWidth - frame.clientWidth;
  frame.dataset.drawn = drawn.length;
} });</script>"""


class Reader(HTMLParser):
    """Tables by section as texts and numbers, embedded values, and what comes from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.sections, self.numbers, self.svg = {}, [], [], 0
        self._cell = self._value = self._script = None
        self.embedded, self.elsewhere, self._styled = '', [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        loaded = [given[name] or '' for name in LOADED if name in given and tag != 'a']
        self.elsewhere += [f'{tag}: {value}' for value in loaded if ELSEWHERE.search(value)]
        self._styled = tag == 'style'
        if tag == 'section':
            self.sections.append(given.get('id', 'verdict'))
        elif tag == 'table':
            self.tables.setdefault(self.sections[-1], []).append([])
        elif tag == 'tr':
            self.tables[self.sections[-1]][-1].append([])
        elif tag in ('td', 'th'):
            self._cell, self._value = '', None
        elif tag == 'data':
            self._value = float(given['value'])
            self._shown = ''
        elif tag == 'svg':
            self.svg += 1
        self._script = given.get('id') if tag == 'script' else None

    def handle_data(self, data):
        if self._styled and ELSEWHERE.search(data):
            self.elsewhere.append('style')
        elif FETCHED.search(data):
            self.elsewhere.append('script')
        if self._script == 'values':
            self.embedded += data
        if self._cell is not None:
            self._cell += data

    def handle_endtag(self, tag):
        self._styled = self._styled and tag != 'style'
        if tag in ('td', 'th'):
            row = self.tables[self.sections[-1]][-1][-1]
            row.append(self._cell if self._value is None else self._value)
            if self._value is not None:
                self.numbers.append((self._cell, self._value))
            self._cell = None


def same(found, expected):
    """Whether JSON values are equal, with None where there is no finite number."""
    return json.loads(json.dumps(found)) == json.loads(json.dumps(expected))


def check_parameters(page: Reader, model_file: Path) -> None:
    """Compare the table of the parameters with the model's file."""
    model = yaml.safe_load(model_file.read_text())
    header, *rows = next(table for table in page.tables['parameters'] if table[0][0] == 'parameter')
    assert header[-1] == 'stands for' and len(rows) == len(model['parameters'])
    for row, told in zip(rows, model['parameters'], strict=True):
        name, value, deviation, relative, low, high, unit, expression = row
        assert (name, value, unit) == (told['name'], told['value'], told['unit'])
        assert deviation == pytest.approx(told['standard_deviation'], rel=1e-12)
        assert [low, high] == pytest.approx(told['interval'], rel=1e-9)
        assert (expression or name) == told['expression']


def check_numbers(page: Reader, report: Path, pictures: int) -> None:
    """Look at numbers in full and as on a terminal, pictures, size, and what is loaded: nothing."""
    assert all(text == cell_text(value) or float(text) == value for text, value in page.numbers)
    assert page.elsewhere == []
    assert page.svg == pictures and report.stat().st_size < LARGEST


def check_validation(page: Reader, recording: str, validated: dict) -> None:
    """Compare what the page says of a recording with what `pkm validate --json` printed."""
    found = json.loads(page.embedded)['validations'][recording]
    assert all(same(found[key], validated[key]) for key in found)


def check_in_a_browser(page: Reader, report: Path, scratch: Path) -> None:
    """Draw a page at both widths, look for errors of the console, and print it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f'needs one of {", ".join(BROWSERS)}')
    frames, pdf = report.with_name('frames.html'), scratch / 'report.pdf'
    frames.write_text(FRAMES)

    def run(*words):
        return subprocess.run(
            [browser, *FLAGS, f'--user-data-dir={scratch}', *map(str, words)],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )

    done = run('--dump-dom', f'file://{frames}')
    told = re.findall(r'id="(\w+)".*?data-overflow="(-?\d+)" data-drawn="(\d+)"', done.stdout)
    assert [name for name, *_ in told] == ['wide', 'phone'], done.stdout
    for _, overflow, drawn in told:
        assert int(overflow) <= 0
        assert int(drawn) >= page.svg - 1  # the still picture is for paper
    done = run('--dump-dom', f'file://{report}')
    assert 'data-state="drawn"' in done.stdout
    assert ':CONSOLE' not in done.stderr, done.stderr
    run(f'--print-to-pdf={pdf}', '--no-pdf-header-footer', f'file://{report}')
    content = pdf.read_bytes()
    assert content.startswith(b'%PDF') and len(re.findall(rb'/Type ?/Page\b', content)) > 2
