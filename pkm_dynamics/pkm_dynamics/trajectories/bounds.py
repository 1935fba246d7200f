"""How large a motion may be that is asked for: known before anything is computed.

Every way in keeps these bounds: messages, files and the classes themselves. With them the
check of the largest motion takes seconds and less than a gigabyte.
"""

from __future__ import annotations

from pkm_description.errors import TrajectoryError

# Of a Fourier series. A design has at most some dozens; the check takes 20 to 80 samples of the
# highest, each with all of them, so that its time grows with their square.
MOST_HARMONICS = 256
MOST_POINTS = 100_000  # of a sampled motion: 100 s at 1 kHz; a longer one belongs into pieces
MOST_COORDINATES = 64  # of a motion: several times those of any robot
LONGEST_NAME = 256  # characters of a joint's or robot's name
LONGEST_DURATION = 86400.0  # [s] of a trajectory, and of all periods of a run together


def require_size(field: str, count: int, most: int, what: str) -> None:
    """Raise TrajectoryError where there are more of something than a motion may have."""
    if count > most:
        raise TrajectoryError(f'{field}: {count} {what}, {most} at most')
