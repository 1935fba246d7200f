"""Options of `identify` as a command line, a service request or a file can write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from pkm_description.errors import EstimationError, ModelFileError
from pkm_identification.force_constants.drive_gains import DriveGains
from pkm_identification.result.reading import load_result

if TYPE_CHECKING:
    from pkm_dynamics import ClosedChainModel

PATTERN = re.compile(r'(^|[\[{,]\s*)(\*[^,\]}:\s]*)')  # unquoted
NAMES = 'a name or pattern of a base parameter, or a list of such'


def option_value(text: str) -> Any:
    """Return a YAML value; names may begin with `*`, which YAML takes for an alias.

    Raises
    ------
    yaml.YAMLError
        It is none.
    """
    return yaml.safe_load(PATTERN.sub(r"\1'\2'", text))


def written_options(options: Mapping[str, Any], model: ClosedChainModel) -> dict[str, Any]:
    """Turn options of plain values into what `identify` takes.

    Parameters
    ----------
    options
        Scalars, lists and mappings, as YAML or JSON holds them. `prior` and
        `force_constants` may be the path of a model file, `drive_gains` a mapping of the
        fields of `DriveGains`; the others (`shared`, `reduced`, `estimate`, `fixed`,
        `left_out`, `payloads`, and those of the signals and of the estimator) are what
        `identify` takes, and are only checked.
    model
        That an earlier result must belong to.

    Raises
    ------
    EstimationError
        A value has the wrong type, or the prior's file cannot be used.
    """
    check_written_signals(options)
    found = dict(options)
    _check(found, 'shared', bool, 'true or false')
    _check(found, 'reduced', bool | str, 'true, false or the name of a reduced model')
    for name in ('estimate', 'left_out'):
        check_written_names(found, name)
    if found.get('left_out', ()) is None:
        del found['left_out']
    _check(found, 'payloads', list, 'a list with one payload a dataset')
    _check(found, 'drive_gains', bool | str | dict, 'true, each, shared or a mapping')
    _check(found, 'fixed', dict, 'a mapping {name: value, [value, standard deviation] or null}')
    _check(
        found,
        'prior',
        dict | str,
        'the path of a model file or a mapping {name: [value, standard deviation]}',
    )
    _check(
        found,
        'force_constants',
        dict | str,
        'the path of a model file or a mapping {joint: constant}',
    )
    for name in ('prior', 'force_constants'):
        if isinstance(found.get(name), str):
            try:
                found[name] = load_result(found[name], model)
            except ModelFileError as error:
                raise EstimationError(f"option '{name}': {error}") from error
    if isinstance(found.get('drive_gains'), dict):
        try:
            found['drive_gains'] = DriveGains(**found['drive_gains'])
        except TypeError as error:
            raise EstimationError(f"option 'drive_gains': {error}") from error
    return found


def check_written_names(options: Mapping[str, Any], name: str) -> None:
    """Raise `EstimationError` where an option is not a name or a list of names."""
    _check(options, name, str | list, NAMES)
    if isinstance(options.get(name), list):
        for item in options[name]:
            if not isinstance(item, str):
                raise EstimationError(f"option '{name}' must be {NAMES}, not {item!r}")


def check_written_signals(options: Mapping[str, Any]) -> None:
    """Raise `EstimationError` where an option of the signals has a value of a wrong type."""
    for name in ('method', 'bad_samples'):
        _check(options, name, str, 'a text')
    for name in ('period', 'cutoff'):
        _check(options, name, int | float, 'a number')
    for name in ('harmonics', 'skip_periods'):
        _check(options, name, int, 'a whole number')
    _check(options, 'delay', int | float | str, 'a number of seconds or estimate')


def _check(options: Mapping[str, Any], name: str, kinds: Any, what: str) -> None:
    value = options.get(name)
    is_number = isinstance(value, bool) and bool not in getattr(kinds, '__args__', (kinds,))
    if value is not None and (is_number or not isinstance(value, kinds)):
        raise EstimationError(f"option '{name}' must be {what}, not {value!r}")
