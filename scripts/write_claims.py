"""Write the page of claims from the results of studies, or make these results.

    python scripts/write_claims.py                   the page from doc/results/*.json
    python scripts/write_claims.py --run [NAME ...]  first the full studies without a result

A result is what `pkm study ... --output` writes, with the options, versions and commit that made
it, and numbers to six digits. To make one anew, remove its file. What was interrupted goes on where
it was.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'scripts' / 'claims'))

from claim import Claim, Content, Mark  # noqa: E402  (beside the claims, as the logs have theirs)

RESULTS = ROOT / 'doc' / 'results'
RUNS = ROOT / '.build' / 'claims'  # where studies write, and go on after a stop
PAGE = ROOT / 'doc' / 'claims.md'
DIGITS = 6  # of numbers in results
#: Papers, with the module of their claims.
PAPERS = {'A': 'abdellatif', 'P': 'poignet', 'O': 'oh', 'M': 'mata', 'H': 'heimann'}
#: Options of `pkm study NAME` for the full run, where its defaults are not that.
OPTIONS: Mapping[str, tuple[str, ...]] = {
    'feasible': ('--plant', 'noise'),
    'noise': ('--runs', '4'),
}
FOLDERS = {'excitation': 'study.json'}  # studies whose result is a file in a folder
HEAD = '| where | what it says | there | here (study) | | why |\n|---|---|---|---|---|---|'
TEXT = """# Claims of the source papers

What the five papers say that the methods come from, and what this project's studies find. Made by
`python scripts/write_claims.py` from the results of full runs in `doc/results`. A mark follows from
the figures: each claim has conditions; **reproduced** are claims of which all hold, **partly**
some, **not reproduced** none. **Not repeated** are those that no study repeats, with the reason.
Real machines of the papers are compared with simulated ones here; what is assumed of them is in the
[studies](../pkm_bringup/doc/studies.md).

{count}.
"""


def claims_of(paper: str) -> tuple[Claim, ...]:
    """Return the claims of a paper by its letter."""
    return import_module(PAPERS[paper]).CLAIMS


def full_studies() -> list[str]:
    """Return the names of the studies that claims rest on, in order."""
    return list(dict.fromkeys(c.study for paper in PAPERS for c in claims_of(paper) if c.study))


def results() -> dict[str, Content]:
    """Return the results by study."""
    return {
        path.stem: json.loads(path.read_text(encoding='utf-8'))
        for path in sorted(RESULTS.glob('*.json'))
    }


def page(found: Mapping[str, Content]) -> str:
    """Return the text of the page."""
    sections, marks = [], Counter[Mark]()
    for paper in PAPERS:
        rows = [claim.row(found) for claim in claims_of(paper)]
        marks.update(mark for _, mark in rows)
        sections.append('\n'.join([f'## [{paper}]', '', HEAD, *(line for line, _ in rows)]))
    count = ', '.join(f'{marks[mark]} {mark.value}' for mark in Mark if marks[mark])
    made = [f'## Results\n\n{made_by(found)}']
    links = '\n'.join(f'[{p}]: references.md#{p.lower()}' for p in PAPERS)
    return '\n\n'.join([TEXT.format(count=count).strip(), *sections, *made, links]) + '\n'


def made_by(found: Mapping[str, Content]) -> str:
    """Return a table of the results: command, commit."""
    lines = ['| study | command | commit |', '|---|---|---|']
    for name in full_studies():
        versions = found[name]['origin']['versions']
        command = ' '.join(('pkm study', name, *OPTIONS.get(name, ())))
        lines.append(f'| `{name}` | `{command}` | {str(versions["git"])[:8]} |')
    return '\n'.join(lines)


def short(value: Any) -> Any:
    """Return a value of a result with its numbers to `DIGITS` digits."""
    if isinstance(value, dict):
        return {key: short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [short(each) for each in value]
    return float(f'{value:.{DIGITS}g}') if isinstance(value, float) else value


def keep(name: str, path: Path) -> None:
    """Keep what `pkm study NAME --output` wrote to a path."""
    content = short(json.loads(path.read_text(encoding='utf-8')))
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f'{name}.json'
    target.write_text(json.dumps(content, separators=(',', ':')) + '\n', encoding='utf-8')


def run(name: str) -> None:
    """Run a full study unless its result is there."""
    if (RESULTS / f'{name}.json').exists():
        return
    inner = FOLDERS.get(name)
    output = RUNS / (name if inner else f'{name}.json')
    RUNS.mkdir(parents=True, exist_ok=True)
    command = ['pkm', 'study', name, *OPTIONS.get(name, ()), '--output', str(output)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    keep(name, output / inner if inner else output)
    shutil.rmtree(output) if inner else output.unlink()


def main(arguments: list[str]) -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--run', nargs='*', metavar='NAME', help='studies; default: all of them')
    given: Any = parser.parse_args(arguments)
    if given.run is not None:
        for name in given.run or full_studies():
            run(name)
    PAGE.write_text(page(results()), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
