"""Parameter files and documentation against the parameters that the nodes declare."""

import re
from pathlib import Path

import pytest
import yaml
from node_tables import ROOT, declared_parameters, executables, flattened, nodes, problems

pytest.importorskip("rclpy")

CONFIG = ROOT / "pkm_bringup" / "config"
BY_LAUNCH = {
    "simulated_robot": {"robot", "seed", "lockstep"},
    "trajectory_controller": {"robot", "update_mode", "feedforward", "autostart"},
}
"""What launch arguments set, and no file."""


def read(name: str) -> dict:
    content = yaml.safe_load((CONFIG / f"{name}.yaml").read_text())
    assert list(content) == ["/**"] and list(content["/**"]) == ["ros__parameters"]
    return flattened(content["/**"]["ros__parameters"])


def test_every_node_has_a_file() -> None:
    assert len(nodes()) >= 6
    assert {path.stem for path in CONFIG.glob("*")} == set(nodes())


@pytest.mark.parametrize("name", nodes())
def test_file_holds_what_the_node_declares(name: str) -> None:
    values = read(name)
    assert problems(values, name) == []
    declared = declared_parameters(name)
    assert set(values) == set(declared) - BY_LAUNCH.get(name, {"robot"})
    assert values == {key: declared[key].default for key in values}


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"bandwith": 10.0}, "no parameter bandwith"),
        ({"bandwidth": 10}, "not of the type"),
        ({"bandwidth": "10"}, "not of the type"),
        ({"damping": 0.0}, "outside"),
        ({"autostart": 1}, "not of the type"),
    ],
)
def test_wrong_values_are_found(values: dict, complaint: str) -> None:
    (found,) = problems(values, "trajectory_controller")
    assert complaint in found


def documented(readme: Path, name: str) -> dict[str, str]:
    """Defaults in the parameter table under a node's heading, by parameter."""
    _, _, section = readme.read_text().partition(f"\n### `{name}`\n")
    section = re.split(r"\n#{2,3} ", section)[0]
    _, _, table = section.partition("| parameter ")
    rows = re.findall(r"^\| `([\w.]+)` \| `?([^|`]*)`? \|", table, re.MULTILINE)
    assert len(rows) == len(dict(rows))
    return {key: value.strip() for key, value in rows}


@pytest.mark.parametrize("name", nodes())
def test_readme_lists_the_parameters_with_their_defaults(name: str) -> None:
    package = executables()[name][0]
    readme = ROOT / package / "README.md"
    if not readme.is_file() or f"### `{name}`" not in readme.read_text():
        pytest.skip(f"{package}/README.md has no section on {name}")
    table = documented(readme, name)
    declared = declared_parameters(name)
    assert set(table) == set(declared)
    for key, entry in declared.items():
        assert type(entry.default)(yaml.safe_load(table[key])) == entry.default, key
