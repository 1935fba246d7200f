"""`pkm validate`: how well a model predicts data that it was not identified from."""

from __future__ import annotations

from typing import Any

from pkm_bringup.arguments import add_json, add_robot
from pkm_bringup.data_arguments import DATA, add_options, given_loading, given_options
from pkm_bringup.views.console import print_json, progress
from pkm_description.errors import EstimationError
from pkm_identification.options import VALIDATION

LEVEL, ROLLOUT = VALIDATION


def add_parser(subparsers: Any) -> None:
    """Add the verb."""
    text = 'compare the forces that a model predicts with measured ones'
    parser = subparsers.add_parser('validate', help=text, description=text)
    parser.add_argument('data', metavar='DATA', help=DATA)
    add_robot(parser)
    text = 'model file of `pkm identify`, SI units'
    parser.add_argument('--model', required=True, metavar='MODEL', help=text)
    LEVEL.add_argument(parser)
    parser.add_argument(
        '--rollout',
        nargs='?',
        const='0.1,0.5,2',
        metavar='HORIZONS',
        help='also integrate the model open-loop under the recorded forces, and compare after '
        'these times with commas [s]; default: 0.1,0.5,2',
    )
    add_options(parser)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Print the relative absolute errors and the verdict on bias."""
    from pkm_bringup.inputs import load_mechanism
    from pkm_bringup.views.identification_view import print_coordinates
    from pkm_bringup.views.validation_view import print_validation
    from pkm_identification.requests.validate_request import ValidateRequest, validate_on_recording

    options = {'level': arguments.level, 'rollout': _horizons(arguments.rollout)}
    given = (options | given_options(arguments), given_loading(arguments))
    request = ValidateRequest(arguments.data, arguments.model, *given)
    with progress('validating') as update:
        model = load_mechanism(arguments.robot, update)
        summary = validate_on_recording(request, model, update).summary()
    if arguments.json:
        name = model.description.name
        print_json({'robot': name, 'model': arguments.model, **summary})
    else:
        print_validation(summary)
        print_coordinates(model.description)
    return 0


def _horizons(text: str | None) -> list[float] | bool:
    if text is None:
        return False
    try:
        return [float(part) for part in text.split(',')]
    except ValueError as error:
        raise EstimationError(f"--rollout takes times [s] with commas, not '{text}'") from error
