"""Pictures of a page: static SVG by matplotlib, which needs no script and prints well."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from cycler import cycler

from pkm_identification.arrays import Array

# Okabe and Ito's colours, which the colour-blind tell apart; DOI 10.1038/nmeth.1618
BLUE, ORANGE, GREEN, PURPLE, SKY, GREY = (
    *('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#8a929c'),
)
INK, FAINT = '#1d2733', '#5c6875'
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, INK)
DASHES = ('-', (0, (5, 2)), (0, (1, 1.2)), (0, (5, 2, 1, 2)), (0, (8, 2)), (0, (3, 1)))
CYCLE = cycler(color=COLOURS)
WIDTH = 3.6  # [in] of a picture: one fits a phone, three beside each other a screen
DPI = 160  # of what is drawn in points, too many for lines
MOST = 600  # vertices of a line
STYLE = {
    'font.family': 'sans-serif',
    'font.size': 8.5,
    'axes.titlesize': 9.5,
    'axes.titleweight': 'bold',
    'axes.titlelocation': 'left',
    'axes.labelsize': 8.5,
    'axes.labelcolor': FAINT,
    'axes.edgecolor': '#b8c0c8',
    'axes.linewidth': 0.8,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.grid': True,
    'axes.axisbelow': True,
    'grid.color': '#e3e7eb',
    'grid.linewidth': 0.7,
    'text.color': INK,
    'xtick.color': FAINT,
    'ytick.color': FAINT,
    'xtick.labelsize': 8,
    'ytick.labelsize': 8,
    'legend.fontsize': 8,
    'axes.prop_cycle': CYCLE,
    'legend.frameon': False,
    'svg.fonttype': 'none',
}
PLACES = re.compile(r' (?:d|x|y)="[^"]*"')
FINE = re.compile(r'(\d\.\d\d)\d+')  # hundredths of a point suffice
FONTS = re.compile(r"""(font: [^';"]*)'[^;"]*""")  # that of the page is narrower, as most are
NOTHING = dict.fromkeys(('Date', 'Creator', 'Format', 'Type'))  # of the file: the page says it


@contextmanager
def drawn(label: str, height: float, width: float = WIDTH) -> Iterator[tuple[Any, list[str]]]:
    """Yield a figure [in] and a list that holds its SVG once the block has ended.

    `label` says in words what the picture shows.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    found: list[str] = []
    salt = hashlib.sha256(label.encode()).hexdigest()  # of the names inside: no two alike
    with rc_context({**STYLE, 'svg.hashsalt': salt}):
        figure = Figure(figsize=(width, height), layout='constrained', dpi=DPI)
        yield figure, found
        text = io.StringIO()
        figure.savefig(text, format='svg', metadata=NOTHING, transparent=True, dpi=DPI)
    found.append(_tidied(text.getvalue(), label))


def _tidied(text: str, label: str) -> str:
    """Return the element alone, its size left to the page, without names that recur."""
    text = text[text.index('<svg') :]
    text = re.sub(r'<metadata>.*?</metadata>\s*', '', text, flags=re.DOTALL)
    text = re.sub(r'<g id="[a-z0-9]+(_[a-z0-9]+)*_\d+">', '<g>', text)
    text = PLACES.sub(lambda found: FINE.sub(r'\1', found[0]), text)
    text = FONTS.sub(r'\1system-ui, sans-serif', text)
    box = re.search(r'viewBox="0 0 ([\d.]+) [\d.]+"', text)
    assert box is not None
    words = label.replace('&', '&amp;').replace('<', '&lt;').replace('"', '&quot;')
    head = f'<svg viewBox="{box[0][9:-1]}" style="max-width: {float(box[1]) / 0.75:.0f}px" '
    head += f'role="img" aria-label="{words}" xmlns="http://www.w3.org/2000/svg" '
    head += 'xmlns:xlink="http://www.w3.org/1999/xlink">'
    return re.sub(r'<svg[^>]*>', lambda _: head, text, count=1).strip()


def thinned(*arrays: Array, by: Array) -> list[Array]:
    """Return arrays (n,) at so few samples that a line has at most `MOST` vertices.

    Least and largest values of `by` (n,) are kept in each of equal stretches, so that no peak is
    lost.
    """
    count = len(by)
    if count <= MOST:
        return [np.asarray(each) for each in arrays]
    edges = np.linspace(0, count, MOST // 2 + 1).astype(int)
    kept = []
    for begin, end in zip(edges[:-1], edges[1:], strict=True):
        part = by[begin:end]
        kept += sorted({begin + int(np.argmin(part)), begin + int(np.argmax(part))})
    return [np.asarray(each)[kept] for each in arrays]
