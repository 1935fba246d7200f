"""Values of node parameters against what the nodes declare."""

from typing import Any

from declared_nodes import declared_parameters


def flattened(parameters: dict[str, Any], prefix: str = '') -> dict[str, Any]:
    """Nested parameters by their dotted names."""
    flat = {}
    for key, value in parameters.items():
        if isinstance(value, dict):
            flat |= flattened(value, f'{prefix}{key}.')
        else:
            flat[f'{prefix}{key}'] = value
    return flat


def problems(values: dict[str, Any], name: str) -> list[str]:
    """What a node would not take of parameter values: unknown, of another type, out of range."""
    declared = declared_parameters(name)
    found = []
    for key, value in values.items():
        if key not in declared:
            found.append(f'{name}: no parameter {key}')
            continue
        entry = declared[key]
        if type(value) is not type(entry.default):
            found.append(f'{name}: {key} is {value!r}, not of the type of {entry.default!r}')
        elif entry.lower is not None and not entry.lower <= value <= entry.upper:
            found.append(f'{name}: {key} = {value} is outside {entry.lower}..{entry.upper}')
    return found
