"""Models of the library's robots and of the mechanisms without symmetry, built once a process."""

from __future__ import annotations

from functools import lru_cache

import closed_chains
import mechanisms

import pkm_description
from pkm_dynamics import ClosedChainModel

MAKERS = {
    'skew_hexapod': mechanisms.skew_hexapod,
    'tripod': mechanisms.tripod,
    'skew_five_bar': mechanisms.five_bar,
    'skew_arm': mechanisms.serial_arm,
    'four_bar_universal': lambda: mechanisms.four_bar('universal'),
    **{f'chain_{kind}': lambda kind=kind: closed_chains.closed_chain(kind)
       for kind in closed_chains.CHAINS},
}
NAMES = (*pkm_description.library(), *MAKERS)


@lru_cache(maxsize=None)
def model_of(name: str) -> ClosedChainModel:
    """Return the model of a mechanism or of a robot of the library."""
    return ClosedChainModel(MAKERS[name]() if name in MAKERS else pkm_description.load(name))
