"""What a MAT file declares, checked before its reader takes memory for it."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from pkm_description.errors import DatasetError
from pkm_description.untrusted.named_files import MAX_WHOLE

HEADER = 128  # [bytes] of a MAT file of version 5; its last two tell the order of bytes
COMPRESSED = 15  # type of an element that is packed by zlib
ELEMENT = 8  # [bytes]: type and size
PIECE = 1 << 20  # [bytes] unpacked at once
# Of the two version bytes at 124: 1 is version 5, 2 is HDF5, which is another reader's matter.
VERSION_5 = 1


def check_elements(path: Path) -> None:
    """Raise DatasetError where an element of a MAT file is larger than the file that holds it.

    Packed ones are unpacked piece by piece to see how large they become. Files of version 4 and
    of HDF5 are left to their readers.
    """
    size = path.stat().st_size
    with path.open('rb') as file:
        head = file.read(HEADER)
        if len(head) < HEADER or 0 in head[:4]:
            return
        order = '<' if head[126:128] == b'IM' else '>'
        if struct.unpack(f'{order}H', head[124:126])[0] >> 8 != VERSION_5:
            return
        total = 0
        while len(start := file.read(ELEMENT)) == ELEMENT:
            kind, length = struct.unpack(f'{order}II', start)
            if length > size - file.tell():
                raise DatasetError(
                    f"'{path}': an element declares {length} bytes, {size - file.tell()} are left"
                )
            if kind != COMPRESSED:
                file.seek(length, 1)
                continue
            total += _unpacked(file.read(length), order, path)
            if total > MAX_WHOLE:
                raise DatasetError(f"'{path}' unpacks to more than {MAX_WHOLE} bytes")


def _unpacked(data: bytes, order: str, path: Path) -> int:
    """Size [bytes] of a packed element, which must be the one that it declares."""
    unpacker = zlib.decompressobj()
    piece = unpacker.decompress(data, PIECE)
    if len(piece) < ELEMENT:
        return 0
    declared = struct.unpack(f'{order}II', piece[:ELEMENT])[1]
    total = len(piece)
    while unpacker.unconsumed_tail and total <= MAX_WHOLE:
        total += len(unpacker.decompress(unpacker.unconsumed_tail, PIECE))
    if declared + ELEMENT > total:
        raise DatasetError(
            f"'{path}': a packed element declares {declared} bytes, it has {total - ELEMENT}"
        )
    return total
