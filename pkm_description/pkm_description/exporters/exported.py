"""What an exporter returns: the text, and what the format could not say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lxml import etree

from pkm_description.errors import ExportError


@dataclass(frozen=True)
class Exported:
    """One exported description.

    Attributes
    ----------
    text : str
        The file.
    losses : tuple of str
        What the file does not say, or says only roughly, one sentence each: everything
        that makes another tool's forces differ from those of the description.
    sidecar : str
        The YAML that belongs beside the file; empty where none does.
    """

    text: str
    losses: tuple[str, ...] = ()
    sidecar: str = ''


def refuse_losses(robot: str, form: str, losses: Iterable[str]) -> None:
    """Raise ExportError where anything is lost."""
    listed = '; '.join(losses)
    if listed:
        raise ExportError(f"robot '{robot}' cannot be written as {form} without losses: {listed}")


def add_comments(root: etree._Element, lines: Iterable[str]) -> None:
    """Put comments at the head of a document, one for each line."""
    for index, line in enumerate(lines):
        # Two hyphens end a comment.
        root.insert(index, etree.Comment(f' {line.replace("--", "- -")} '))
