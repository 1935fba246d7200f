"""What the READMEs show, executed: snippets, files, printed output, tables of keys and codes."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from page_examples import blocks, same, write_files
from verb_parsers import parsers

import pkm_description
from pkm_bringup import cli
from pkm_description.sidecar import KEYS, parse_yaml

ROOT = Path(__file__).resolve().parents[1]
README = {
    folder.parent.name: '\n'.join(
        path.read_text() for path in (folder, *sorted(folder.parent.glob('doc/*.md')))
    )
    for folder in sorted(ROOT.glob('pkm_*/README.md'))
}
"""Start page of each package, followed by its pages by subject."""
QUICKER = {('periods=3', 'periods=1')}
"""What is shortened in snippets whose output is not compared."""


@dataclass(frozen=True)
class Snippet:
    """A Python block and the output that the README prints after it, if any.

    A block that makes no model of its own goes on from the last one (`before`) that does.
    """

    package: str
    code: str
    expected: str | None
    before: str = ''


def snippets() -> list[Snippet]:
    found = []
    for package in README:
        fences = blocks(README[package])
        last = ''
        for here, after in zip(fences, [*fences[1:], None], strict=True):
            if here['language'] == 'python':
                shown = after is not None and after['before'] == 'prints'
                makes_model = re.search(r'^model = ', here['text'], re.MULTILINE)
                before = '' if makes_model or 'model' not in here['text'] else last
                last = here['text'] if makes_model else last
                expected = after['text'] if shown else None
                found.append(Snippet(package, here['text'], expected, before))
    return found


def run_simulations(package: str, code: str, kept: Path) -> None:
    """Make the data that the snippet reads by the `pkm simulate` lines of a README, each once."""
    for line in re.findall(r'^pkm simulate .*$', README[package], re.MULTILINE):
        *arguments, name = shlex.split(line)[1:]
        if f"'{name}'" in code:
            file = kept / f'{package}_{name}'
            assert file.exists() or cli.main([*arguments, str(file)]) == 0
            shutil.copy(file, name)


def commands(package: str) -> list[tuple[str, str | None]]:
    """Return the `sh` blocks of a README and what it prints after each, if anything."""
    fences = blocks(README[package])
    pairs = zip(fences, [*fences[1:], None], strict=True)
    return [
        (here['text'], after['text'] if after and after['before'].endswith('prints') else None)
        for here, after in pairs
        if here['language'] == 'sh'
    ]


def test_comparison_tells_outputs_apart() -> None:
    assert same('mass 16.31 kg [-1.20e-3]', 'mass 16.3 kg [-1.21e-3]')
    assert not same('mass 17.3 kg', 'mass 16.3 kg')
    assert not same('angle -0.945', 'angle -0.933')
    assert not same('mass 16.3 g', 'mass 16.3 kg')
    assert not same('16.3 16.3', '16.3')


def test_there_are_snippets() -> None:
    packages = {snippet.package for snippet in snippets() if snippet.expected}
    assert packages >= {'pkm_description', 'pkm_dynamics', 'pkm_identification'}


@pytest.fixture(scope='module')
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where simulated data stay that several snippets read."""
    return tmp_path_factory.mktemp('simulated')


@pytest.mark.parametrize('snippet', snippets(), ids=lambda snippet: snippet.package)
def test_snippet_prints_what_the_readme_says(
    snippet: Snippet, tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if re.search(r'\brclpy\b|\.nodes\b', snippet.code):
        pytest.skip('needs a ROS graph')
    monkeypatch.chdir(tmp_path)
    write_files(README[snippet.package], tmp_path)
    run_simulations(snippet.package, snippet.code, kept)
    code = snippet.code
    if snippet.expected is None:
        for long, short in QUICKER:
            code = code.replace(long, short)
    printed, names = io.StringIO(), {'__name__': 'readme'}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(snippet.before, f'{snippet.package}/README.md', 'exec'), names)
    with contextlib.redirect_stdout(printed):
        exec(compile(code, f'{snippet.package}/README.md', 'exec'), names)
    if snippet.expected is None:
        assert printed.getvalue().strip()
    else:
        assert same(printed.getvalue(), snippet.expected), printed.getvalue()


def test_commands_print_what_the_readme_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The `sh` blocks of pkm_bringup, one after the other in a folder, and `pkm` in the text."""
    monkeypatch.chdir(tmp_path)
    write_files(README['pkm_bringup'], tmp_path)
    found = commands('pkm_bringup')
    assert any(expected for _, expected in found)
    for text, expected in found:
        status = 0
        for line in text.splitlines():
            assert line.startswith('pkm ') and status == 0, line
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                status = cli.main(shlex.split(line)[1:])
        broken = expected is not None and 'exceeded by' in expected
        assert status == int(broken)
        assert expected is None or same(printed.getvalue(), expected), printed.getvalue()
    assert (tmp_path / 'second.png').stat().st_size > 10_000
    (line,) = re.findall(r'`pkm (excite check step.csv [^`]*)`', README['pkm_bringup'])
    assert cli.main(shlex.split(line)) == 0


PAGES = sorted({*ROOT.glob('*.md'), *ROOT.glob('doc/*.md'), *ROOT.glob('pkm_*/**/*.md')})


@pytest.fixture(scope='module')
def verbs() -> dict[str, argparse.ArgumentParser]:
    """Parsers of all verbs and their actions, by the words that lead to them."""
    return parsers()


def verb_of(words: list[str], verbs: dict[str, argparse.ArgumentParser]) -> str:
    """The longest name of a verb or action that words begin with."""
    return max((n for n in verbs if words[: len(n.split())] == n.split()), key=len)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_the_page_exist(
    page: Path, verbs: dict[str, argparse.ArgumentParser], capsys: pytest.CaptureFixture
) -> None:
    """Commands in blocks are taken as they are; in the text verbs and options are known."""
    text = page.read_text().replace('\\\n', ' ')
    for fence in blocks(text):
        for line in re.findall(r'^pkm [^\n]*', fence['text'], re.MULTILINE):
            words = shlex.split(line, comments=True)
            try:
                verbs['pkm'].parse_args(words[1:])
            except SystemExit as end:
                assert end.code == 0, f'{line}: {capsys.readouterr().err}'
    for line in re.findall(r'`(pkm [^`]*)`', text):
        words = line.split()
        name = verb_of(words, verbs)
        assert name != 'pkm' or words[1] in ('--help', '...', 'VERB'), line
        known = verbs[name]._option_string_actions
        assert set(re.findall(r'(?<![\w-])--[a-z][\w-]*', line)) <= set(known), line


# Each entry: what is replaced in the example of pkm_description's README, and by what.
MISTAKES = {
    'unknown constraint type': (
        'type="revolute">\n    <parent link="platform"/>',
        'type="hinge">\n    <parent link="platform"/>',
    ),
    'misspelt link': (
        '<child link="rocker"/> <child_origin',
        '<child link="rockr"/> <child_origin',
    ),
    'rocker 1 m too far': ('<origin xyz="0.5 0 0"/>', '<origin xyz="1.5 0 0"/>'),
    'home outside a limit': ('lower="0.8" upper="2.4"', 'lower="-2.4" upper="-2.2"'),
    'impossible inertia': ('izz="0.025"', 'izz="0.25"'),
    'two parents': (
        '</robot>',
        '<joint name="x" type="fixed"><parent link="crank"/><child link="rocker"/></joint></robot>',
    ),
    'one actuator too many': (
        '</ros2_control>',
        '<joint name="rocker_joint"><command_interface name="effort"/></joint></ros2_control>',
    ),
    'unknown YAML key': ('gravity:', 'gravitiy:'),
    'different parts of one design': ('sources:', 'same_design: [[crank, rocker]]\nsources:'),
}


@pytest.mark.parametrize('mistake', MISTAKES)
def test_mistake_gives_the_message_of_the_readme(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = re.search(rf'^\| {mistake} \| (.*) \|$', README['pkm_description'], re.MULTILINE)
    assert row, f'no row {mistake}'
    write_files(README['pkm_description'], tmp_path)
    old, new = MISTAKES[mistake]
    changed = 0
    for path in tmp_path.iterdir():
        text = path.read_text()
        changed += old in text
        path.write_text(text.replace(old, new))
    assert changed == 1
    with pytest.raises(pkm_description.DescriptionError) as error:
        pkm_description.load(tmp_path / 'four_bar.urdf')
    expected = row[1].replace('`', '')
    message = str(error.value).replace(f'{tmp_path}/', '').replace('`', '')
    parts = [part.strip() for part in expected.split('...')]
    if len(parts) > 1:
        assert message.startswith(parts[0])
    else:
        assert same(message, expected), message


def test_every_key_of_the_sidecar_has_a_row_with_a_valid_example() -> None:
    section = README['pkm_description'].partition('\n## YAML')[2].partition('\n## ')[0]
    rows = dict(re.findall(r'^\| `(\w+)` \| [^|]* \| `([^`]*)`', section, re.MULTILINE))
    assert tuple(rows) == KEYS
    for key, example in rows.items():
        assert list(parse_yaml(example, key)) == [key]


@pytest.mark.parametrize(
    'interface',
    [
        'action/Excite.action',
        'srv/Identify.srv',
        'action/IdentifyWithProgress.action',
        'action/Compare.action',
        'srv/Validate.srv',
        'srv/ApplyModel.srv',
    ],
)
def test_every_error_code_is_listed(interface: str) -> None:
    text = (ROOT / 'pkm_msgs' / interface).read_text()
    codes = re.findall(r'^uint16 (\w+)=(\d+)', text, re.MULTILINE)
    rows = re.findall(r'^\| ([\d, ]+) \| `(\w+)` \|', README['pkm_identification'], re.MULTILINE)
    listed = {(name, number) for numbers, name in rows for number in numbers.split(', ')}
    wanted = {(name, number) for name, number in codes if number != '0'}
    assert wanted and wanted <= listed


def test_overview_names_what_exists() -> None:
    """The snippet of the first page needs a recording: its names are checked alone."""
    (code,) = re.findall(r'```python\n(.*?)```', (ROOT / 'README.md').read_text(), re.DOTALL)
    compile(code, 'README.md', 'exec')
    used = re.findall(r'\b(pkm_\w+)\.(\w+)', code)
    assert len(used) >= 4
    for package, name in used:
        assert hasattr(importlib.import_module(package), name)
