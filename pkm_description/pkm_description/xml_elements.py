"""Names, numbers, vectors and poses of XML elements, with errors that name the element."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

import numpy as np
from lxml import etree

from pkm_description.description import Pose, frozen
from pkm_description.errors import DescriptionError
from pkm_description.rotation_formats import rotation_from_rpy

MAX_BYTES = 5_000_000
LIKE = 0.75  # similarity from which an unknown name is a misspelled known one


def parse_xml(text: str, where: str) -> etree._Element:
    """Root of a document without entities, document type or network access."""
    if len(text) > MAX_BYTES:
        raise DescriptionError(f"'{where}' has {len(text)} characters; at most {MAX_BYTES}")
    refuse_entities(text, where)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        return etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise DescriptionError(f"'{where}' is not well-formed XML: {error}") from None


def refuse_entities(text: str, where: str) -> None:
    """Raise DescriptionError where a document declares a type or entities."""
    if '<!DOCTYPE' in text or '<!ENTITY' in text:
        raise DescriptionError(f"'{where}' declares a document type or entities: refused")


def name_of(element: etree._Element) -> str:
    """Attribute `name` of an element that must have one."""
    name = element.get('name')
    if not name or not name.strip():
        raise DescriptionError(f'a <{element.tag}> (line {element.sourceline}) has no name')
    return str(name)


def label(element: etree._Element) -> str:
    """How messages call an element: by its name or by that of the element it is in."""
    owner = element
    while owner is not None and owner.get('name') is None:
        owner = owner.getparent()
    if owner is None or owner is element:
        return f"{element.tag} '{element.get('name', '')}'"
    return f"<{element.tag}> of {owner.tag} '{owner.get('name')}'"


def float_or_nan(text: str) -> float:
    """Value of a text; nan where it is no number."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def number(element: etree._Element, attribute: str, default: float | None = None) -> float:
    """Float value of an attribute; infinities are allowed."""
    text = element.get(attribute)
    if text is None:
        if default is None:
            raise DescriptionError(f"{label(element)} lacks the attribute '{attribute}'")
        return default
    value = float_or_nan(text)
    if math.isnan(value):
        raise DescriptionError(f"{label(element)}: {attribute}='{text}' is not a number")
    return value


def vector(element: etree._Element, attribute: str, default: tuple[float, ...]) -> np.ndarray:
    """Finite numbers of an attribute, as many as the default has."""
    text = element.get(attribute)
    if text is None:
        return np.array(default, dtype=float)
    try:
        values = np.array([float(part) for part in text.split()])
    except ValueError:
        values = np.array([])
    if values.shape != (len(default),) or not np.all(np.isfinite(values)):
        raise DescriptionError(
            f"{label(element)}: {attribute}='{text}' must be {len(default)} finite numbers"
        )
    return values


def pose(element: etree._Element | None) -> Pose:
    """Pose of an element with `xyz` [m] and `rpy` [rad]."""
    if element is None:
        return Pose()
    check_attributes(element, ('xyz', 'rpy'))
    position = vector(element, 'xyz', (0.0, 0.0, 0.0))
    rotation = rotation_from_rpy(vector(element, 'rpy', (0.0, 0.0, 0.0)))
    return Pose(frozen(position), frozen(rotation))


def only(element: etree._Element, tag: str) -> etree._Element | None:
    """Return the one child of that tag, None without one; two are an error."""
    found = element.findall(tag)
    if len(found) > 1:
        raise DescriptionError(f'{label(element)} has {len(found)} <{tag}> elements; one is meant')
    return found[0] if found else None


def check_attributes(element: etree._Element, known: Iterable[str]) -> None:
    """Refuse attributes that the element does not have."""
    known = tuple(known)
    for attribute in element.attrib:
        if attribute not in known:
            raise DescriptionError(
                f"{label(element)} has the unknown attribute '{attribute}'; attributes are "
                f'{", ".join(known)}'
            )


def foreign_attributes(element: etree._Element, known: tuple[str, ...]) -> list[str]:
    """Names of attributes of other tools; one that misspells a known one that is not there raises.

    Raises DescriptionError.
    """
    foreign = [str(name) for name in element.attrib if name not in known]
    for name in foreign:
        meant = similar(name, known)
        if meant and element.get(meant) is None:
            check_attributes(element, known)
    return foreign


def check_children(
    element: etree._Element, known: Iterable[str], foreign: Iterable[str] = ()
) -> list[str]:
    """Refuse misspelled children and return the tags of those that are merely unknown.

    Extensions of other tools are none of our business, but `<orign>` is a mistake.
    """
    known, foreign = tuple(known), set(foreign)
    strange = []
    for child in element:
        tag = str(child.tag)
        if tag in known or tag in foreign or tag.startswith('{'):
            continue
        meant = similar(tag, known)
        if meant:
            owner = label(element) if element.get('name') is not None else f'<{element.tag}>'
            raise DescriptionError(
                f'{owner} has the unknown element <{tag}> (line {child.sourceline}; is '
                f'<{meant}> meant?); elements are {", ".join(known)}'
            )
        strange.append(tag)
    return strange


def similar(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that an unknown one resembles, if any."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=LIKE)
    return found[0] if found else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ` (is 'x' meant?)` where a known name resembles the unknown one, else nothing."""
    meant = similar(name, known)
    return f" (is '{meant}' meant?)" if meant else ''
