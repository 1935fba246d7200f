"""Every option of a request, declared once.

From here come the arguments of the command line, the checks of the services and of
`identify(**options)`, and the tables of the documentation (`scripts/write_option_tables.py`
writes those between `<!-- options: NAME -->` and `<!-- end of options -->`). Those of single
estimators are in `pkm_identification.estimators.estimator_options`, those of a design in
`pkm_identification.excitation_options`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from numbers import Real
from typing import Any

from pkm_description.errors import DatasetError, EstimationError
from pkm_description.untrusted.bounded_yaml import load_yaml
from pkm_identification.estimators.estimator_options import ESTIMATORS
from pkm_identification.excitation_options import LIMITS, SEARCH
from pkm_identification.option import (
    FLAG,
    POSITIVE,
    TEXT,
    Option,
    Values,
    choice,
    number,
    table,
    whole,
)

SHARE = number(0.0, 1.0, ends=False)
NAMES = Values('a name or pattern of a base parameter, or a list of such', (str, list), items=str)
PATHS = Values('the path of a recording, or a list of paths', (str, list), items=str)


_of_loading = partial(Option, error=DatasetError)
LOADING = (
    _of_loading(
        'topic',
        TEXT,
        'of the sensor_msgs/JointState messages in a bag of any robot',
        otherwise='joint_states in any namespace',
    ),
    _of_loading(
        'joints',
        Values('a mapping {theirs: ours}', (dict,)),
        "name in the data and name of the robot's joint; joints that are not named are left out",
        otherwise='equal names',
        flag='--joint',
        metavar='NAME=NAME',
        many=True,
    ),
    _of_loading(
        'effort_unit',
        choice('N', 'A'),
        'of the efforts in the data: N (also N m), or A where they are motor currents',
        'N',
    ),
    _of_loading(
        'forces',
        choice('measured', 'commanded'),
        'measured by the drives, or commanded by the controller, without the noise of a sensor: '
        'right where the drives do what they are told',
        'measured',
    ),
    _of_loading(
        'side',
        choice('joint', 'motor'),
        'whose names and numbers the data have: with motor the transmissions of the robot make '
        'those of joints of them',
        otherwise='of the recording, else joint',
    ),
    _of_loading(
        'force_constants',
        Values('a mapping {joint: constant or [constant, standard deviation]}', (dict,)),
        'force or torque of a current, and its standard deviation',
        None,
        'N/A, N m/A',
        'of the data, else of the description',
        flag='--force-constant',
        metavar='JOINT=VALUE[,DEVIATION]',
        many=True,
    ),
    _of_loading(
        'columns',
        Values('the path of a file of names or a mapping {key: value}', (str, dict)),
        'YAML file that says what the columns of a table are; see Tables of other programs',
        otherwise='DATA.columns.yaml or columns.yaml beside the data, where there is one',
        metavar='FILE',
    ),
    _of_loading(
        'start',
        number(0.0),
        'of the first sample that is taken, from the first one recorded; `DATA:FROM-TO` says it '
        'for one recording',
        None,
        's',
        'the first',
        flag='--from',
    ),
    _of_loading(
        'stop',
        number(0.0),
        'before which the last sample is taken, from the first one recorded',
        None,
        's',
        'the last',
        flag='--to',
    ),
    _of_loading(
        'allow_incomplete', FLAG, 'read a bag that was cut off up to its last whole chunk', False
    ),
    _of_loading(
        'only_run', FLAG, 'of a bag: the samples at full speed alone', True, has_argument=False
    ),
    _of_loading(
        'topics',
        Values('a mapping {role: topic}', (dict,)),
        'of a bag, where they have other names than the standard ones',
        otherwise='the standard names',
        has_argument=False,
    ),
    _of_loading(
        'truth',
        FLAG,
        'read the noise-free signals of a simulated robot; `pkm identify` leaves them where it '
        'compares nothing',
        True,
        has_argument=False,
    ),
)
SIGNALS = (
    Option(
        'method',
        choice('auto', 'fourier', 'filter', 'local_cubic'),
        '`fourier`, `filter`, `local_cubic` (local weighted cubic regression at the stamps as '
        'they are), or `auto`: Fourier where there is a period, else the filter',
        'auto',
    ),
    Option('period', POSITIVE, 'of the motion', None, 's', 'of the data'),
    Option('harmonics', whole(1), 'of the refit', None, '1', 'by the noise and held-out forces'),
    Option('cutoff', POSITIVE, 'of the filter', None, 'Hz', 'by held-out forces'),
    Option(
        'skip_periods', whole(0), 'periods left out at the beginning', None, '1', 'by the settling'
    ),
    Option(
        'bad_samples',
        choice('leave_out', 'keep'),
        'outliers, stuck and saturated samples have no weight; `keep`: they are not looked for, '
        'and the stamps stay',
        'leave_out',
    ),
    Option(
        'clock',
        choice('auto', 'stamps'),
        '`auto`: repeats of a sample are dropped, and the even clock of the robot replaces the '
        'stamps where the motion is smoother over it; `stamps`: all rows at their stamps',
        'auto',
    ),
    Option(
        'velocities',
        choice('auto', 'measured', 'positions'),
        'of a filtered motion: `auto`: measured ones are combined with those of the positions '
        'where they are less noisy and belong to them; `measured`: an error where they do not '
        'belong to them; `positions`: not used',
        'auto',
    ),
    Option(
        'effort_filter',
        Values('a mapping {order, cutoff} or {time_constant}', (dict,)),
        'low pass of the drives in the measured efforts: `{order: 2, cutoff: 100}` (Butterworth) '
        '[Hz] or `{time_constant: 0.002}` [s]; its delay and gain are undone',
        None,
        otherwise='of the data',
    ),
    Option(
        'standstill',
        choice('leave_out', 'keep'),
        'stretches in which no joint moves for a second have no rows (in a period: no weight), as '
        'friction has no law there; `keep`: they have',
        'leave_out',
    ),
    Option(
        'delay',
        number(float('-inf'), float('inf'), 'estimate'),
        'from a position to the effort of the same sample; `estimate`: with the parameters, by '
        "Gauss-Newton, for any motion (`estimate_delay(dataset, model)`; `diagnostics['delay']` "
        'with its standard deviation, which the covariance of the parameters does not contain: '
        'with several harmonics it would make their deviations at most some per cent larger)',
        None,
        's',
        'as recorded',
    ),
)
DRIVE_TERMS = Option(
    'drive_terms',
    Values('a text, a list of texts or a mapping {joint: terms}', (str, list, dict)),
    'forces of the drives by position that the description does not have: '
    '`JOINT:TERM[+TERM]`, joints by name or pattern, TERM one of `offset`, `spring`, '
    '`spring(REST)`, `rotor`, `asymmetry`, `ripple(PERIOD[,HARMONICS])`, '
    '`presliding(DEFLECTION)` with numbers in m or rad, `warm_up(TIME[,TIME])` in s; or a mapping '
    'as the section `drives` of the YAML',
    flag='--terms',
    metavar='JOINT:TERM',
    many=True,
)
LOAD_FRICTION = Option(
    'load_friction',
    Values('a name or pattern of a joint, or a list of such', (str, list), items=str),
    'names or patterns of joints and constraints (`leg*_strut`) whose friction grows with the '
    'force across their axis, where the description does not say so; each adds the parameter '
    '`<joint>.load`',
    metavar='JOINT',
    many=True,
)
DESCRIBED, AUTO = 'described', 'auto'
FRICTION = Option(
    'friction',
    choice(DESCRIBED, AUTO),
    'of the drives: as described, or `auto`: also offsets, springs, rotors, force ripple and '
    'friction laws that the data ask for, chosen by held-out error and F test',
    DESCRIBED,
)
COMMON = (
    Option('shared', FLAG, 'links and joints of one design share their parameters', True),
    Option(
        'reduced',
        Values('true, false or the name of a reduced model', (bool, str)),
        'parameters that the description declares zero are left out; or one of its reduced '
        'models, by name',
        True,
    ),
    Option(
        'estimate',
        NAMES,
        'names or patterns (`*.viscous`) of the base parameters to estimate; the others stay at '
        'their nominal values',
        otherwise='all',
    ),
    Option(
        'fixed',
        Values('a mapping {name: value, [value, standard deviation] or null}', (dict,)),
        '`{name or pattern: value, (value, standard deviation) or None}`; None is the nominal '
        'value. The deviations enter the covariance of the result, with what they make uncertain '
        'in the others',
    ),
    Option(
        'prior',
        Values(
            'the path of a model file or a mapping {name: [value, standard deviation]}', (str, dict)
        ),
        'an earlier result (in a request the path of its file), or `{name or pattern: (value, '
        'standard deviation)}`',
    ),
    Option(
        'left_out',
        NAMES,
        'names or patterns that the model does without: zero, and of no weight in the verdict on '
        'physical bodies',
    ),
    DRIVE_TERMS,
    LOAD_FRICTION,
    FRICTION,
    Option(
        'payloads',
        Values('a list with one payload a dataset', (list,)),
        'body on the platform in each recording; see Drive gains and payloads',
        otherwise='of the data',
    ),
    Option(
        'drive_gains',
        Values('true, each, shared or a mapping', (bool, str, dict)),
        'whether force constants are estimated; see Drive gains and payloads',
        False,
    ),
    Option(
        'force_constants',
        Values('the path of a model file or a mapping {joint: constant}', (str, dict)),
        'that count before those of the data',
        None,
        'N/A, N m/A',
        'of the data',
    ),
)

LEVEL = Option('level', SHARE, 'of the confidence intervals', 0.95, '1')
THRESHOLD = Option(
    'threshold',
    POSITIVE,
    'relative standard deviation up to which a parameter is properly identified',
    15.0,  # [M 5.3]
    'percent',
)
REDUCTION = (
    Option(
        'validation',
        PATHS,
        'recording that is only predicted at each step',
        flag='--validate',
        metavar='DATA',
        many=True,
    ),
    Option(
        'keep', NAMES, 'names or patterns of parameters that are never dropped', has_argument=False
    ),
    Option(
        'held_at',
        choice('zero', 'nominal'),
        'where dropped parameters are held: left out of the model, or as described',
        'zero',
        has_argument=False,
    ),
    Option(
        'significance',
        SHARE,
        'what makes the residuals grow at this level of an F-test when it is dropped stays, '
        'however uncertain',
        None,
        '1',
        'certainty alone decides',
    ),
)
VALIDATION = (
    Option('level', SHARE, 'nominal share of the forces within the predicted bounds', 0.95, '1'),
    Option(
        'rollout',
        Values('true, false or a list of positive times', (bool, float, list), items=Real),
        'horizons of an integration of the model under the recorded forces; true: 0.1, 0.5, 2',
        False,
        's',
    ),
)
LOAD = 'load'  # option of a request that holds those of `load`
REDUCE = Option('reduce', FLAG, 'whether the model is reduced', False)
SHOWN = 60  # characters of a wrong value in a message
UNQUOTED_PATTERN = re.compile(r'(^|[\[{,]\s*)(\*[^,\]}:\s]*)')


def names(options: Iterable[Option]) -> tuple[str, ...]:
    """Return the names of options."""
    return tuple(option.name for option in options)


def options_of(estimators: Sequence[str]) -> dict[str, Option]:
    """Return by name all options of `identify` with one of these estimators."""
    own = chain.from_iterable(ESTIMATORS[name] for name in estimators)
    return {option.name: option for option in (*own, *SIGNALS, *COMMON)}


def check_options(
    estimators: Sequence[str], given: Mapping[str, Any], further: Sequence[Option] = ()
) -> None:
    """Check names and values of options of `identify`.

    An option must belong to one of the `estimators`, to all, or to `further` ones.
    """
    valid = options_of(estimators) | {option.name: option for option in further}
    of = f"of estimator '{estimators[0]}'" if len(estimators) == 1 else 'of any compared estimator'
    require_known(of, given, valid)


def require_known(of: str, given: Mapping[str, Any], valid: Mapping[str, Option]) -> None:
    """Raise `EstimationError` where an option is unknown or has a value that it cannot have.

    `of` says in words whose options they are.
    """
    for name, value in given.items():
        if name not in valid:
            raise EstimationError(f"unknown option '{name}' {of}; valid are {', '.join(valid)}")
        valid[name].check(value)


def option_value(text: str) -> Any:
    """Return a YAML value; names may begin with `*`, which YAML takes for an alias."""
    return load_yaml(UNQUOTED_PATTERN.sub(r"\1'\2'", text), f"'{text[:SHOWN]}'", EstimationError)


def written_options(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return options from their names, each given once, and YAML texts."""
    found: dict[str, Any] = {}
    for name, text in pairs:
        if name in found:
            raise EstimationError(f"option '{name}' is given twice")
        try:
            found[name] = option_value(text)
        except EstimationError as error:
            raise EstimationError(f"option '{name}': {error}") from error
    return found


def tables() -> dict[str, str]:
    """Return the tables of the documentation by name."""
    columns = ('option', 'default', 'unit', 'meaning')
    with_argument = {
        'loading': LOADING,
        'reports': (THRESHOLD, LEVEL),
        'reduction': REDUCTION,
        'validation': VALIDATION,
        'search of a design': SEARCH,
        'limits of a design': LIMITS,
    }
    found = {
        name: table(('option', 'argument', *columns[1:]), map(_row_with_argument, options))
        for name, options in with_argument.items()
    }
    found['signals'] = table(columns, map(_row, SIGNALS))
    found['all estimators'] = table(columns, map(_row, COMMON))
    users: dict[Option, list[str]] = {}
    for name, options in ESTIMATORS.items():
        for option in options:
            users.setdefault(option, []).append(f'`{name}`')
    rows = ((', '.join(names), *_row(option)) for option, names in users.items())
    return found | {'single estimators': table(('estimator', *columns), rows)}


def _row(option: Option) -> tuple[str, ...]:
    return f'`{option.name}`', option.default_text, option.unit, option.help


def _row_with_argument(option: Option) -> tuple[str, ...]:
    argument = f'`{option.argument}`' if option.has_argument else ''
    return f'`{option.name}`', argument, *_row(option)[1:]


MARKED = re.compile(r'(<!-- options: (.+?) -->\n\n).*?(\n\n<!-- end of options -->)', re.DOTALL)


def with_tables(text: str) -> str:
    """Return a text in Markdown with the tables that it marks as they are declared."""
    found = tables()
    return MARKED.sub(lambda mark: mark[1] + found[mark[2]] + mark[3], text)
