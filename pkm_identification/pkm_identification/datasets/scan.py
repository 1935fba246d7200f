"""One pass over a recording that is too long for memory: every sample checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pkm_description.errors import DatasetError
from pkm_identification.datasets.dataset import Dataset
from pkm_identification.datasets.tidy_source import TidySource
from pkm_identification.quality.report import Defect, merged
from pkm_identification.quality.stamps import nominal_interval

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

HEAD = 2**17  # samples from the beginning that show whether and how the motion repeats
PROBES = 8
PROBE = 2**14  # samples of each probe
EVEN = 0.02  # of a sampling interval


@dataclass(frozen=True)
class Scan:
    """What one pass over a recording shows.

    Attributes
    ----------
    count
        Number of samples.
    first, last
        Stamps [s].
    interval
        Sampling interval of the first samples [s].
    is_even
        Whether all intervals are that within 2 %.
    lower, upper
        Smallest and largest positions (n,).
    head
        The first samples.
    probes
        Stretches of samples, evenly spread over the recording.
    effort_range
        Smallest and largest efforts, else currents (2, n).
    all_valid
        Whether every sample may be used.
    defects
        What is wrong with stamps and numbers.
    """

    count: int
    first: float
    last: float
    interval: float
    is_even: bool
    lower: Array
    upper: Array
    head: Dataset
    probes: tuple[Dataset, ...]
    effort_range: Array
    all_valid: bool = True
    defects: tuple[Defect, ...] = ()


def joined(parts: Sequence[Array | None]) -> Array | None:
    """Concatenate what is there; None where nothing is."""
    found = [part for part in parts if part is not None]
    return np.concatenate(found) if found else None


def flags_of(parts: Sequence[Flags | None], like: Sequence[Any]) -> Flags | None:
    """Concatenate flags; None of them where all are good, and so in `like` of its shape."""
    if all(part is None for part in parts):
        return None
    return np.concatenate(
        [
            np.ones(other.positions.shape, dtype=bool) if part is None else part
            for part, other in zip(parts, like, strict=True)
        ]
    )


def scan_source(
    source: TidySource, names: tuple[str, ...], fields: Mapping[str, Any]
) -> tuple[Scan, NDArray[np.int64]]:
    """Check every sample; see what is known only after all of them.

    Parameters
    ----------
    source
        Samples.
    names
        Joints, one a column.
    fields
        Others of `Dataset`.

    Returns
    -------
    scan, columns
        Joints without any number are left out of the scan; `columns` of the source are left.

    Raises
    ------
    DatasetError
        As `Dataset` does.
    """
    where = str(fields.get('provenance', {}).get('source', 'dataset'))
    count, interval, last = 0, float('nan'), -np.inf
    shortest, longest, all_valid = np.inf, 0.0, True
    lower = upper = np.zeros(0)
    ends = np.zeros((2, 0))
    head: list[Dataset] = []
    probes: list[Dataset] = []
    starts = np.linspace(0, max(len(source) - 1, 0), PROBES + 1)[:-1]
    for block in source.blocks():
        part = Dataset(joint_names=names, **block._asdict(), **fields)
        if head and part.joint_names != head[0].joint_names:
            lost = sorted(set(part.joint_names) ^ set(head[0].joint_names))[0]
            raise DatasetError(
                f"{where}: joint '{lost}' has no numbers in some of the time (about t = "
                f'{part.time[0]:.6f} s)'
            )
        if part.time[0] <= last:
            raise DatasetError(
                f'{where}: time does not increase at sample {count} ({last:.6f} s, then '
                f'{part.time[0]:.6f} s)'
            )
        if not head:
            interval = nominal_interval(part.time) if len(part) > 1 else part.interval
            lower, upper = part.positions.min(axis=0), part.positions.max(axis=0)
            ends = _range(part)
        ends = np.stack([np.minimum(ends, _range(part))[0], np.maximum(ends, _range(part))[1]])
        steps = np.diff(part.time, prepend=last if np.isfinite(last) else part.time[0] - interval)
        shortest, longest = min(shortest, float(steps.min())), max(longest, float(steps.max()))
        lower = np.minimum(lower, part.positions.min(axis=0))
        upper = np.maximum(upper, part.positions.max(axis=0))
        if count < HEAD:
            head.append(part[: HEAD - count])
        if ((starts >= count) & (starts < count + len(part))).any():
            probes.append(part[:PROBE])
        flags = (part.position_valid, part.effort_valid)
        all_valid &= all(each is None or bool(each.all()) for each in flags)
        count, last = count + len(part), float(part.time[-1])
    if not head:
        raise DatasetError(f'{where}: there are no samples')
    first = replace(
        head[0],
        time=np.concatenate([part.time for part in head]),
        positions=np.concatenate([part.positions for part in head]),
        efforts=joined([part.efforts for part in head]),
        currents=joined([part.currents for part in head]),
        position_valid=flags_of([part.position_valid for part in head], head),
        effort_valid=flags_of([part.effort_valid for part in head], head),
    )
    scan = Scan(
        count=count,
        first=float(first.time[0]),
        last=last,
        interval=interval,
        is_even=max(longest - interval, interval - shortest) <= EVEN * interval,
        lower=lower,
        upper=upper,
        head=first,
        probes=tuple(probes),
        effort_range=ends,
        all_valid=all_valid,
        defects=merged([*source.defects, *first.defects], count),
    )
    columns = np.array([names.index(name) for name in first.joint_names], dtype=np.int64)
    return scan, columns


def _range(part: Dataset) -> Array:
    """Smallest and largest efforts, else currents (2, n)."""
    values = part.currents if part.efforts is None else part.efforts
    assert values is not None
    return np.stack([values.min(axis=0), values.max(axis=0)])
