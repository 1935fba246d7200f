"""Reduced models: which parameters a level leaves free [M 5.2]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pkm_description import Description, DescriptionError, EstimationError
from pkm_description.sidecar import mapping

_KEYS = ('geometry', 'shared', 'zero_parameters', 'equal_parameters', 'keep')


@dataclass(frozen=True)
class Reduction:
    """A level of simplification, as the description declares it."""

    name: str
    zero: tuple[str, ...] = ()  # names or patterns of parameters that are zero
    # terms `<parameter>` or `<number>*<parameter>` that are equal to each other
    equal: tuple[tuple[str, ...], ...] = ()
    shared: bool = False  # links and joints of one design share their parameters at this level
    # patterns of the rigid-body base parameters that stay; all where empty
    keep: tuple[str, ...] = ()


def find_reduction(description: Description, level: bool | str) -> Reduction:
    """Return the reduction of a level.

    False leaves every parameter free; True applies `zero_parameters` and
    `equal_parameters` of the description; a name is looked up in `reduced_models`. Raises
    EstimationError where there is no such level, DescriptionError where the declaration is
    malformed.
    """
    if level is False:
        return Reduction('full')
    levels = reduced_models(description)
    if level is True:
        return levels['geometry']
    if level not in levels:
        raise EstimationError(
            f"robot '{description.name}' has no reduced model '{level}'; it has {', '.join(levels)}"
        )
    return levels[level]


def reduced_models(description: Description) -> dict[str, Reduction]:
    """Return every level of a description by name: `full`, `geometry` and its own."""
    sidecar = description.sidecar
    zero = tuple(description.zero_parameters)
    equal = _relations(sidecar.get('equal_parameters', []), 'equal_parameters')
    levels = {'full': Reduction('full'), 'geometry': Reduction('geometry', zero, equal)}
    for name, content in mapping(sidecar.get('reduced_models', {}), 'reduced_models').items():
        if name in levels:
            raise DescriptionError(f"reduced_models: '{name}' exists for every robot")
        levels[str(name)] = _read(str(name), content or {}, zero, equal)
    return levels


def _read(
    name: str, content: Any, zero: tuple[str, ...], equal: tuple[tuple[str, ...], ...]
) -> Reduction:
    where = f"reduced_models '{name}'"
    for key in mapping(content, where):
        if key not in _KEYS:
            raise DescriptionError(
                f"{where} has the unknown key '{key}'; keys are {', '.join(_KEYS)}"
            )
    flags = {key: content.get(key, key == 'geometry') for key in ('geometry', 'shared')}
    for key, flag in flags.items():
        if not isinstance(flag, bool):
            raise DescriptionError(f'{key} of {where} must be true or false, not {flag!r}')
    if not flags['geometry']:
        zero, equal = (), ()
    return Reduction(
        name,
        zero + _names(content.get('zero_parameters', []), f'zero_parameters of {where}'),
        equal + _relations(content.get('equal_parameters', []), f'equal_parameters of {where}'),
        flags['shared'],
        _names(content.get('keep', []), f'keep of {where}'),
    )


def _names(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DescriptionError(f'{what} must be a list of names or patterns')
    return tuple(value)


def _relations(value: Any, what: str) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list):
        raise DescriptionError(f'{what} must be a list of lists of parameters')
    found = tuple(_names(item, f'{what}: each entry') for item in value)
    for item in found:
        if len(item) < 2:
            raise DescriptionError(f'{what}: {list(item)} needs at least two parameters')
    return found
