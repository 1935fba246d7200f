"""Broken inputs: how files and messages are broken, and what a reader may do with them.

`python tests/helpers/fuzzing.py COUNT [SEED]` runs as many inputs over all readers of files, and a
tenth of it over services and goals; it prints how many were refused and what is a defect.
"""

from __future__ import annotations

import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pkm_description.errors import PkmError

LONGEST = 1.0  # [s] of processor time for one input
MOST = 500 << 20  # [bytes] of memory for one input
ODD = (b'nan', b'-1', b'1e400', b'9' * 30, b'[' * 200, b'{', b'&a [*a]', b'\0', b'\xff', b'null')
# Values that stand where others are expected, in YAML, XML and messages.
NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-320, 1e-9, 1e9, 1e308, np.nan, np.inf, -np.inf, 0.5, 3.0)
TEXTS = ('', ' ', 'a', '0', '-1', '1e400', 'nan', '.inf', 'true', '../..', '/dev/zero', '\0', 'ä')
LONG = 'long_name' * 5000
DEEP = 100


class Interrupted(BaseException):
    """An input that takes far too long; no reader catches this."""


@dataclass
class Tally:
    """What became of the inputs of one reader."""

    inputs: int = 0
    read: int = 0
    refused: int = 0
    slowest: float = 0.0  # [s]
    largest: int = 0  # [bytes]
    defects: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """One line, then the kinds of defects with an example each."""
        kinds: dict[str, list[str]] = {}
        for text in self.defects:
            kinds.setdefault(re.sub(r'[0-9.]+', '#', text.strip().splitlines()[-1]), []).append(
                text
            )
        lines = [
            f'{self.inputs} inputs, {self.read} read, {self.refused} refused, slowest '
            f'{self.slowest:.2f} s, {self.largest / 2**20:.0f} MB, {len(self.defects)} defects'
        ]
        for texts in kinds.values():
            lines.append(f'--- {len(texts)} times:\n{texts[0]}')
        return '\n'.join(lines)


def tried(
    tally: Tally,
    what: str,
    read: Callable[[], Any],
    longest: float = LONGEST,
    elsewhere: Callable[[], float] = lambda: 0.0,
) -> None:
    """Let a reader have one input; note what it does wrong, as taking more than `longest` [s].

    Without what is taken `elsewhere` [s], in other processes with limits of their own.
    """
    tally.inputs += 1
    _forget_peak()
    before = _memory('VmRSS')
    begun = time.process_time()
    try:
        with _limited():
            read()
        tally.read += 1
    except PkmError:
        tally.refused += 1
    except Interrupted:
        tally.defects.append(f'{what}: interrupted after {time.process_time() - begun:.1f} s')
    except Exception:
        tally.defects.append(f'{what}: {traceback.format_exc()[-1500:]}')
    seconds = time.process_time() - begun - elsewhere()
    taken = _memory('VmHWM') - before
    tally.slowest, tally.largest = max(tally.slowest, seconds), max(tally.largest, taken)
    if seconds > longest:
        tally.defects.append(f'{what}: {seconds:.1f} s')
    if taken > MOST:
        tally.defects.append(f'{what}: {taken >> 20} MB')


@contextmanager
def _limited() -> Iterator[None]:
    """Interrupt Python code that takes ten times too long."""

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, 10 * LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def _memory(name: str) -> int:
    """Memory of this process [bytes] by the name that the kernel has for it."""
    found = re.search(rf'{name}:\s+(\d+) kB', Path('/proc/self/status').read_text())
    return int(found[1]) << 10 if found else 0


def _forget_peak() -> None:
    """Let `VmHWM` begin anew."""
    try:
        Path('/proc/self/clear_refs').write_text('5')
    except OSError:
        pass  # the peak is then that of the whole run


# -- how inputs are broken --------------------------------------------------------------


def broken_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Flip bits, cut, splice, or put something odd in."""
    found = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        place, kind = int(rng.integers(0, max(len(found), 1))), rng.integers(0, 4)
        if kind == 0 and found:
            found[place] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del found[place:]
        elif kind == 2:
            other = int(rng.integers(0, len(data)))
            found[place : place + 20] = data[other : other + int(rng.integers(1, 60))]
        else:
            found[place : place + int(rng.integers(0, 6))] = ODD[rng.integers(0, len(ODD))]
    return bytes(found)


def odd_value(rng: np.random.Generator) -> Any:
    """Draw something of any kind."""
    kind = int(rng.integers(0, 9))
    if kind == 0:
        return NUMBERS[rng.integers(0, len(NUMBERS))]
    if kind == 1:
        return TEXTS[rng.integers(0, len(TEXTS))]
    if kind == 2:
        return int(rng.integers(-3, 10)) * 10 ** int(rng.integers(0, 20))
    if kind == 3:
        return [odd_value(rng) for _ in range(rng.integers(0, 4))]
    if kind == 4:
        return {str(odd_value(rng))[:20]: odd_value(rng) for _ in range(rng.integers(0, 3))}
    if kind == 5:
        deep: Any = 0
        for _ in range(DEEP):
            deep = [deep]
        return deep
    return (None, True, LONG)[kind - 6]


def broken_tree(content: Any, rng: np.random.Generator) -> Any:
    """Change one place in maps and lists: another value, one less, twice, renamed."""
    places = list(_places(content))
    if not places:
        return odd_value(rng)
    holder, key = places[rng.integers(0, len(places))]
    kind = rng.integers(0, 6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif kind == 1:
        holder[(None, 3, True, 2.5, f'{key}x')[rng.integers(0, 5)]] = holder.pop(key)
    elif kind == 2:
        other, its = places[rng.integers(0, len(places))]
        holder[key] = yaml.safe_load(yaml.safe_dump(other[its])) if its in _keys(other) else None
    elif kind == 3 and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = holder[key] * float(rng.choice([-1.0, 1e3, 1e-3, 1e12, 0.0]))
    else:
        holder[key] = odd_value(rng)
    return content


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    for key in _keys(content):
        yield content, key
        yield from _places(content[key])


def _keys(content: Any) -> list[Any]:
    if isinstance(content, dict):
        return list(content)
    return list(range(len(content))) if isinstance(content, list) else []


def broken_yaml(data: bytes, rng: np.random.Generator) -> bytes:
    """Break the bytes of a YAML text or what they say."""
    if rng.random() < 0.3:
        return broken_bytes(data, rng)
    content = yaml.load(data, getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    for _ in range(rng.integers(1, 3)):
        content = broken_tree(content, rng)
    try:
        return yaml.dump(content, Dumper=getattr(yaml, 'CSafeDumper', yaml.SafeDumper)).encode()
    except (yaml.YAMLError, TypeError):  # a list became a key
        return broken_bytes(data, rng)


ATTRIBUTE = re.compile(rb'="([^"]*)"')
ELEMENT = re.compile(rb'<[^<>]*>')


def broken_xml(data: bytes, rng: np.random.Generator) -> bytes:
    """Break the bytes of an XML text, the value of an attribute or a whole tag."""
    found = data
    for _ in range(rng.integers(1, 3)):
        kind = rng.integers(0, 5)
        if kind == 0:
            found = broken_bytes(found, rng)
            continue
        spans = [each.span() for each in (ATTRIBUTE if kind < 4 else ELEMENT).finditer(found)]
        if not spans:
            continue
        begin, end = spans[rng.integers(0, len(spans))]
        if kind == 4:
            other = spans[rng.integers(0, len(spans))]
            new = (b'', found[begin:end] * 2, found[slice(*other)])[rng.integers(0, 3)]
        elif kind == 3:
            other = spans[rng.integers(0, len(spans))]
            new = found[slice(*other)]
        else:
            new = b'="' + _attribute(found[begin + 2 : end - 1], rng) + b'"'
        found = found[:begin] + new + found[end:]
    return found


def _attribute(value: bytes, rng: np.random.Generator) -> bytes:
    parts = value.split() or [b'']
    if rng.random() < 0.5:
        parts[rng.integers(0, len(parts))] = str(odd_value(rng)).encode()
    elif rng.random() < 0.5:
        parts = parts[: rng.integers(0, len(parts) + 1)]
    else:
        parts = parts * int(rng.integers(2, 5))
    return b' '.join(parts).replace(b'"', b'').replace(b'<', b'')


def main() -> int:
    """Run the readers, then the requests, or those that are named."""
    import warnings

    import fuzzed_files
    import fuzzed_requests

    warnings.simplefilter('ignore')
    count, seed, names = int(sys.argv[1]), int((sys.argv[2:] or ['0'])[0]), sys.argv[3:]
    keep = Path(__file__).resolve().parents[2] / '.build' / 'fuzz'
    keep.mkdir(parents=True, exist_ok=True)
    forms = {name: form for name, form in fuzzed_files.FORMS.items() if not names or name in names}
    found: dict[str, Tally] = {}
    for name, form in forms.items():
        found[name] = form.tally(-(-count // len(forms)), seed, keep)
        print(f'{name}: {found[name]}', flush=True)
    if not names or 'requests' in names:
        requests = fuzzed_requests.tally_requests(-(-count // 10), seed)
        for name, tally in requests.items():
            print(f'{name}: {tally}', flush=True)
        found |= requests
    inputs = sum(tally.inputs for tally in found.values())
    defects = sum(len(tally.defects) for tally in found.values())
    print(f'{inputs} inputs, {defects} defects')
    return int(defects > 0)


if __name__ == '__main__':
    sys.exit(main())
