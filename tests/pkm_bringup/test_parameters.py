"""Parameter files and documentation against the parameters that the nodes declare."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from declared_nodes import ROOT, declared_parameters, executables, nodes
from parameter_values import flattened, problems

pytest.importorskip('rclpy')

CONFIG = ROOT / 'pkm_bringup' / 'config'
FOREIGN = {'diagnostic_aggregator'}  # nodes of other packages; test_diagnostic_tree.py
BY_LAUNCH = {
    'excitation_server': {'robot', 'force_unit'},
    'force_monitor': {'robot', 'force_unit', 'model', 'references'},
    'online_estimator': {'robot', 'force_unit'},
    'simulated_robot': {'robot', 'world', 'drives', 'seed', 'lockstep'},
    'trajectory_controller': {'robot', 'drives', 'update_mode', 'feedforward', 'autostart'},
}
"""What launch arguments set, and no file."""


def read(name: str) -> dict:
    content = yaml.safe_load((CONFIG / f'{name}.yaml').read_text())
    assert list(content) == ['/**'] and list(content['/**']) == ['ros__parameters']
    return flattened(content['/**']['ros__parameters'])


def test_every_node_has_a_file() -> None:
    assert len(nodes()) >= 6
    assert {path.stem for path in CONFIG.glob('*')} == set(nodes()) | FOREIGN


@pytest.mark.parametrize('name', nodes())
def test_file_holds_what_the_node_declares(name: str) -> None:
    values = read(name)
    assert problems(values, name) == []
    declared = declared_parameters(name)
    assert set(values) == set(declared) - BY_LAUNCH.get(name, {'robot'})
    assert values == {key: declared[key].default for key in values}


@pytest.mark.parametrize(
    ('values', 'complaint'),
    [
        ({'bandwith': 10.0}, 'no parameter bandwith'),
        ({'bandwidth': 10}, 'not of the type'),
        ({'bandwidth': '10'}, 'not of the type'),
        ({'damping': 0.0}, 'outside'),
        ({'autostart': 1}, 'not of the type'),
    ],
)
def test_wrong_values_are_found(values: dict, complaint: str) -> None:
    (found,) = problems(values, 'trajectory_controller')
    assert complaint in found


def section_of(package: Path, name: str) -> str:
    """The section on a node in the pages of its package."""
    pages = [package / 'README.md', *sorted(package.glob('doc/*.md'))]
    text = '\n'.join(page.read_text() for page in pages if page.is_file())
    _, heading, section = text.partition(f'\n## Node `{name}`')
    if not heading:
        pytest.skip(f'the pages of {package.name} have no section on {name}')
    return section.split('\n## ')[0]


def documented(package: Path, name: str) -> dict[str, Any]:
    """Defaults in the parameter table of a node's section, by parameter.

    A row may hold several parameters, separated by commas, with as many defaults.
    """
    _, _, table = section_of(package, name).partition('| parameter | default |')
    found: dict[str, Any] = {}
    for names, defaults in re.findall(r'^\| ([^|]*`[^|]*) \| ([^|]*) \|', table, re.MULTILINE):
        for key, value in zip(names.split(','), defaults.split(','), strict=True):
            found[key.strip(' `')] = yaml.safe_load(value.strip(' `'))
    return found


@pytest.mark.parametrize('name', nodes())
def test_the_table_marks_what_may_change_at_run_time(name: str) -> None:
    section = section_of(ROOT / executables()[name][0], name)
    marked = re.findall(r'^\| `(\w+)` \|[^|]*\|[^|]*\| \*\*run time:\*\*', section, re.MULTILINE)
    free = {key for key, entry in declared_parameters(name).items() if not entry.read_only}
    assert set(marked) == free


@pytest.mark.parametrize('name', nodes())
def test_readme_lists_the_parameters_with_their_defaults(name: str) -> None:
    table = documented(ROOT / executables()[name][0], name)
    declared = declared_parameters(name)
    assert set(table) == set(declared)
    assert table == {key: entry.default for key, entry in declared.items()}
