"""YAML of unknown origin: bounded in depth and in what its aliases stand for."""

from __future__ import annotations

from typing import Any

import yaml

from pkm_description.errors import PkmError

PLAIN_LOADER: type[yaml.SafeLoader] = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
"""In C where PyYAML has it: ten times as fast."""

MAX_DEPTH = 50  # ours has five levels; the scanner's time grows with the square of the depth
MAX_NODES = 2_000_000  # with aliases written out: a covariance of 1000 parameters twice
MAX_CHARACTERS = 8_000_000  # a model of 500 parameters with covariance and guaranteed set
# What PyYAML's constructors raise beside its own errors, for dates, binaries and merges
OF_CONSTRUCTORS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)


def load_yaml(
    text: str,
    where: str,
    error: type[PkmError],
    most: int = MAX_CHARACTERS,
    loader: type[yaml.SafeLoader] = PLAIN_LOADER,
) -> Any:
    """Return what a YAML text holds, plain types alone.

    Raises `error` where it is no YAML, longer than `most` characters, nested more than
    `MAX_DEPTH` levels deep, or its aliases stand for more than `MAX_NODES` values.
    """
    if len(text) > most:
        raise error(f'{where} has {len(text)} characters; at most {most} are read')
    try:
        _check_size(text, where, error, loader)
        return yaml.load(text, Loader=loader)
    except (yaml.YAMLError, *OF_CONSTRUCTORS) as reason:
        line = ' '.join(str(reason).split())
        raise error(f'{where} is not YAML: {line}') from None


def _check_size(text: str, where: str, error: type[PkmError], loader: type[Any]) -> None:
    """Count levels, and values with each alias as what it stands for."""
    open_nodes: list[tuple[str | None, int]] = []  # anchors of open collections, values before
    sizes: dict[str, int] = {}
    count = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.AliasEvent):
            count += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.ScalarEvent):
            count += 1
        elif isinstance(event, yaml.CollectionStartEvent):
            open_nodes.append((event.anchor, count))
            count += 1
            if len(open_nodes) > MAX_DEPTH:
                raise error(f'{where} is nested more than {MAX_DEPTH} levels deep')
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_nodes.pop()
            if anchor is not None:
                sizes[anchor] = count - before
        if count > MAX_NODES:
            raise error(f'{where} holds more than {MAX_NODES} values, aliases written out')
        if isinstance(event, yaml.AliasEvent) and event.anchor in {a for a, _ in open_nodes}:
            raise error(f"{where} is not finite: '*{event.anchor}' stands for itself")
