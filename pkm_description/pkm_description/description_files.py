"""Read description files: size and entities checked, xacro expanded with its arguments."""

from __future__ import annotations

import re
import stat
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.dom import minidom
from xml.parsers.expat import ExpatError

from lxml import etree

from pkm_description.errors import DescriptionError
from pkm_description.sidecar import ABOUT, read_mapping
from pkm_description.xml_elements import MAX_BYTES, refuse_entities

SDF = '.sdf'
MAX_DEPTH = 20  # includes within includes
MAX_ELEMENTS = 5000  # that xacro evaluates, 0.1 ms each; the largest of the library has 818
MAX_TOTAL = 4 * MAX_BYTES
_XACRO = 'http://www.ros.org/wiki/xacro'
_lock = threading.Lock()  # xacro keeps its state in its module


def read_text(path: Path) -> str:
    """Text of a description file, refusing what is no file, huge, or not UTF-8."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DescriptionError(f"cannot read '{path}': it is not a file")
        if status.st_size > MAX_BYTES:
            raise DescriptionError(
                f"'{path}' has {status.st_size} bytes; at most {MAX_BYTES} are read"
            )
        return path.read_text(encoding='utf-8')
    except OSError as error:
        raise DescriptionError(f"cannot read '{path}': {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DescriptionError(f"cannot read '{path}': {error}") from None


def sidecar_of(path: Path, keys: Collection[str]) -> Path:
    """Path of the YAML that belongs to a URDF or xacro file, of its stem; it need not exist.

    That of an SDF file has the file's whole name before it: a URDF of the same robot may be there.
    Raises DescriptionError where another YAML file there obviously is meant for it: one of nearly
    that name, or one that has only `keys` and belongs to no other description in the folder.
    """
    if path.suffix == SDF:
        return path.with_name(f'{path.name}.yaml')
    right = path.with_name(_stem(path) + '.yaml')
    folder = path.parent
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    others = {_stem(each) for each in files if each.suffix in ('.urdf', '.xacro')} - {_stem(path)}
    for each in files:
        if each.suffix.lower() not in ('.yaml', '.yml') or each == right:
            continue
        stem = each.stem.lower().removesuffix('.xacro').removesuffix('.urdf')
        if stem in {other.lower() for other in others}:
            continue
        if stem == _stem(path).lower() or (not right.exists() and _has_only(each, keys)):
            raise DescriptionError(
                f"'{each}' would not be read: the YAML of '{path.name}' must be called "
                f"'{right.name}'"
            )
    return right


def _stem(path: Path) -> str:
    return path.name.removesuffix('.xacro').removesuffix('.urdf')


def _has_only(path: Path, keys: Collection[str]) -> bool:
    """Whether a YAML file is a mapping of some of the keys, beside words about itself."""
    try:
        content = read_mapping(read_text(path), str(path))
    except DescriptionError:
        return False
    return set(content) <= set(keys) and not set(content) <= set(ABOUT)


def read_urdf(path: Path, arguments: Mapping[str, str] | None = None) -> str:
    """URDF of a file; a .xacro file is expanded with `arguments`, which no other file takes."""
    if path.suffix == '.xacro':
        return expand_xacro(path, arguments or {})
    if arguments:
        raise DescriptionError(
            f"'{path}' takes no arguments ({', '.join(arguments)}): only .xacro files do"
        )
    text = read_text(path)
    refuse_entities(text, str(path))
    return text


def split_arguments(text: str) -> tuple[str, dict[str, str]]:
    """Split `file.urdf.xacro name:=value ...` into the file and its arguments."""
    match = re.fullmatch(r'(.+?)((?:\s+[^\s:]+:=\S*)+)\s*', text, re.DOTALL)
    if match is None:
        return text, {}
    pairs = (item.split(':=', 1) for item in match.group(2).split())
    return match.group(1), {name: value for name, value in pairs}


def expand_xacro(path: Path, arguments: Mapping[str, str]) -> str:
    """Expand a xacro file and what it includes.

    Every file is read by `read_text` and refused if it declares entities. Raises
    DescriptionError, also for an argument that no file declares.
    """
    try:
        import xacro
    except ImportError:
        raise DescriptionError(
            f"'{path}' needs xacro, which is not installed; expand it to .urdf first"
        ) from None
    mappings = {str(name): str(value) for name, value in arguments.items()}
    endless = DescriptionError(
        f"xacro cannot expand '{path}': a macro or property calls itself without end"
    )
    with _guarded(xacro, path) as declared:
        try:
            expanded = xacro.process_file(str(path), mappings=dict(mappings)).toxml()
        except DescriptionError:
            raise
        except RecursionError:
            raise endless from None
        except Exception as error:  # xacro raises many unrelated types
            if isinstance(getattr(error, 'exc', None), RecursionError):
                raise endless from None
            text = ' '.join(str(error).split()) or type(error).__name__
            raise DescriptionError(f"xacro cannot expand '{path}': {text}") from None
        finally:
            xacro.substitution_args_context['arg'] = {}
    for name in mappings:
        if name not in declared:
            raise DescriptionError(
                f"'{path}' has no xacro argument '{name}'; arguments are "
                f'{", ".join(sorted(declared)) or "none"}'
            )
    if len(expanded) > MAX_BYTES:
        raise DescriptionError(
            f"'{path}' expands to {len(expanded)} characters; at most {MAX_BYTES}"
        )
    # Without xacro's banner comment, which names the machine's folders.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, remove_comments=True, remove_blank_text=True
    )
    root = etree.fromstring(expanded.encode(), parser)
    return str(etree.tostring(root, pretty_print=True, encoding='unicode'))


@contextmanager
def _guarded(xacro: Any, path: Path) -> Iterator[set[str]]:
    """Let xacro read files through our checks; yields the arguments that they declare.

    Macros that call each other twice, blocks and properties that hold each other twice grow
    without end in a few lines: what is evaluated is bounded, too. Not bounded is what a single
    expression asks of Python.
    """
    declared: set[str] = set()
    total = elements = 0
    original, evaluate_all, evaluate = xacro.parse, xacro.eval_all, xacro.eval_text

    def eval_all(node: Any, macros: Any, symbols: Any) -> Any:
        nonlocal elements
        elements += 1
        if elements > MAX_ELEMENTS:
            raise DescriptionError(
                f"'{path}' expands to more than {MAX_ELEMENTS} elements, at last "
                f'<{node.tagName}>: does a macro or a block hold itself?'
            )
        return evaluate_all(node, macros, symbols)

    def eval_text(text: str, symbols: Any) -> Any:
        value = evaluate(text, symbols)
        if isinstance(value, str) and len(value) > MAX_BYTES:
            raise DescriptionError(f"'{path}' has a value of more than {MAX_BYTES} characters")
        return value

    def parse(text: Any, filename: str | None = None) -> Any:
        nonlocal total
        if text is not None or filename is None or not Path(filename).exists():
            return original(text, filename)  # which knows about optional includes
        if len(xacro.filestack) > MAX_DEPTH:
            raise DescriptionError(
                f"'{path}' includes files more than {MAX_DEPTH} deep: '{filename}' includes itself?"
            )
        content = read_text(Path(filename))
        total += len(content)
        if total > MAX_TOTAL:
            raise DescriptionError(
                f"'{path}' includes more than {MAX_TOTAL} characters ('{filename}' is the last)"
            )
        refuse_entities(content, filename)
        try:
            document = minidom.parseString(content)
        except ExpatError as error:
            raise DescriptionError(f"'{filename}' is not well-formed XML: {error}") from None
        declared.update(
            element.getAttribute('name')
            for element in document.getElementsByTagNameNS(_XACRO, 'arg')
        )
        return document

    with _lock:
        xacro.parse, xacro.eval_all, xacro.eval_text = parse, eval_all, eval_text
        try:
            yield declared
        finally:
            xacro.parse, xacro.eval_all, xacro.eval_text = original, evaluate_all, evaluate
