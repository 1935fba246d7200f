"""Where the numbers of a robot come from: the `sources` of its sidecar, matched to its numbers.

A number is named by the link, joint, constraint or sidecar key that holds it and by what it
says: `leg1_stator.mass`, `leg1_strut.effort`, `simulation.cogging.period`. A key of `sources` is
one or several such names, separated by commas, with `*`, `?` and `[...]` as wild cards, or the
part of a name before a dot; its text begins with a status of `STATUSES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from lxml import etree

from pkm_description.description import Description
from pkm_description.errors import DescriptionError

STATUSES = ('paper', 'derived', 'published', 'assumed', 'convention')
_STATUS = re.compile(rf'({"|".join(STATUSES)})\b')
NOT_NUMBERS = (
    'title',
    'free_joints',
    'same_design',
    'zero_parameters',
    'equal_parameters',
    'reduced_models',
    'sources',
)

_LINK = {'mass': 'mass', 'origin': 'com', 'inertia': 'inertia'}
_ATTRIBUTES = {
    'lower': 'stroke',
    'upper': 'stroke',
    'velocity': 'velocity',
    'effort': 'effort',
    'damping': 'damping',
    'friction': 'coulomb',
}
_CONSTRAINT_AXES = ('parent_axis', 'child_axis')


def numbers_of(description: Description) -> list[str]:
    """Names of all numbers of a robot, in the order of its files.

    Zeros of the URDF do not count. The shapes of a link, drawn or of collision, count as one
    `<link>.shape`.
    """
    root = etree.fromstring(description.urdf.encode())
    found = [*_of_urdf(root), *_of_sidecar(description.sidecar)]
    return list(dict.fromkeys(found))


def source_of(description: Description, number: str) -> str | None:
    """Text of the source that covers a number, or None."""
    for key, text in _sources(description).items():
        if any(_matches(number, pattern) for pattern in _patterns(key)):
            return text
    return None


def unsourced(description: Description) -> list[str]:
    """Names of the numbers of a robot that no source covers."""
    return [name for name in numbers_of(description) if source_of(description, name) is None]


def idle_sources(description: Description) -> list[str]:
    """Patterns of `sources` that cover no number: misspelt or left over."""
    names = numbers_of(description)
    patterns = [pattern for key in _sources(description) for pattern in _patterns(key)]
    return [p for p in patterns if not any(_matches(name, p) for name in names)]


def _sources(description: Description) -> Mapping[str, str]:
    sources = description.sidecar.get('sources', {})
    if not isinstance(sources, Mapping):
        raise DescriptionError(f'sources must be a mapping, not {sources!r}')
    for key, text in sources.items():
        if not isinstance(text, str) or not _STATUS.match(text):
            raise DescriptionError(
                f"the source of '{key}' must be a text that begins with one of "
                f'{", ".join(STATUSES)}, not {text!r}'
            )
    return sources


def _patterns(key: str) -> list[str]:
    return [pattern.strip() for pattern in str(key).split(',')]


def _matches(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name, f'{pattern}.*')


def _of_urdf(root: etree._Element) -> Iterator[str]:
    for link in root.findall('link'):
        name = link.get('name')
        for element in link.findall('inertial/*'):
            if _has_number(element):
                yield f'{name}.{_LINK[element.tag]}'
        if link.find('visual') is not None or link.find('collision') is not None:
            yield f'{name}.shape'
    for joint in root.findall('joint'):
        yield from _of_joint(joint)
    for constraint in root.findall('constraint'):
        yield from _of_joint(constraint)
    for joint in root.findall('ros2_control/joint'):
        for parameter in joint.findall('param'):
            yield f'{joint.get("name")}.{parameter.get("name")}'


def _of_joint(joint: etree._Element) -> Iterator[str]:
    name = joint.get('name')
    for element in joint:
        if element.tag in ('limit', 'dynamics'):
            for attribute, label in _ATTRIBUTES.items():
                if _is_number(element.get(attribute, '')):
                    yield f'{name}.{label}'
        elif _has_number(element):
            yield f'{name}.{"axis" if element.tag in _CONSTRAINT_AXES else element.tag}'


def _of_sidecar(content: Mapping[str, Any], prefix: str = '') -> Iterator[str]:
    for key, value in content.items():
        if not prefix and key in NOT_NUMBERS:
            continue
        if isinstance(value, Mapping):
            yield from _of_sidecar(value, f'{prefix}{key}.')
        elif _holds_number(value):
            yield f'{prefix}{key}'


def _holds_number(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_number(item) for item in value)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _has_number(element: etree._Element) -> bool:
    return any(_is_number(part) for text in element.attrib.values() for part in text.split())


def _is_number(text: str) -> bool:
    try:
        return float(text) != 0.0
    except ValueError:
        return False
