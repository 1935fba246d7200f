"""Models whose base parameters are checked, built once, and how combinations compare."""

from __future__ import annotations

from functools import cache

import closed_chains
import mechanisms
import numpy as np
import planar
import rps

import pkm_description
from pkm_dynamics import ClosedChainModel

MECHANISMS = {
    'tripod': mechanisms.tripod,
    'bars': mechanisms.five_bar,
    'arm': mechanisms.serial_arm,
    'parallelogram': lambda: planar.four_bar(0.2, 0.5, 0.2, 0.5),
    'cart': planar.cart,
    'rps': rps.rps,
    **{kind: lambda kind=kind: closed_chains.closed_chain(kind) for kind in closed_chains.CHAINS},
}


# Rigid-body base parameters, each body on its own and as the description reduces them.
# Hexapods: 130 less 6 (ball joints) and 36 (slides) and 6 (stators on two crossing axes); with
# rings 88 of 190. 6R arm with a spherical wrist: 36, as the PUMA 560 [Khalil and Dombre].
LIBRARY = {
    'cart_pendulum': (7, 5),
    'delta': (34, 6),
    'five_bar': (7, 4),
    'ford': (82, 10),
    'four_bar': (8, 5),
    'h4': (4, 2),
    'hexel': (82, 8),
    'msi': (82, 10),
    'palida': (88, 10),
    'rps_upv': (25, 9),
    'serial_arm': (36, 36),
    'uf_pkm': (82, 9),
}


@cache
def model_of(name):
    if name in MECHANISMS:
        return ClosedChainModel(MECHANISMS[name]())
    return ClosedChainModel(pkm_description.load(name))


def combination(model, terms):
    """Row (n_p,) of a combination {parameter: coefficient}; patterns leg* are means."""
    row = np.zeros(model.n_p)
    for name, value in terms.items():
        names = [name.replace('*', str(k)) for k in range(1, 7)] if '*' in name else [name]
        names = [n for n in names if n in model.parameter_names]
        row[[model.parameter_names.index(n) for n in names]] = value / len(names)
    return row


def assert_same_row_space(ours, theirs):
    """Both say the same about the robot: each row of one is a combination of the other's."""
    assert ours.shape == theirs.shape
    for a, b in ((ours, theirs), (theirs, ours)):
        left = np.linalg.lstsq(b.T, a.T, rcond=None)[0]
        np.testing.assert_allclose(b.T @ left, a.T, atol=1e-10 * np.abs(a).max())
