"""Names of base parameters beside the axis of a picture, with what they stand for."""

from __future__ import annotations

LONGEST = 48  # characters: half of a picture's axis at its smallest writing
LEFT_OUT = '…'


def parameter_label(expression: str, unit: str = '') -> str:
    """Return an expression, with as many of its terms as there is room for, and its unit."""
    terms = expression.replace(' - ', '\n- ').replace(' + ', '\n+ ').split('\n')
    shown = terms[0] if len(terms[0]) <= LONGEST else f'{terms[0][: LONGEST - 1]}{LEFT_OUT}'
    for count, term in enumerate(terms[1:], 2):
        room = LONGEST - (0 if count == len(terms) else len(f' + {LEFT_OUT}'))
        if len(f'{shown} {term}') > room:
            shown += f' + {LEFT_OUT}'
            break
        shown += f' {term}'
    return f'{shown} [{unit}]' if unit else shown
