"""Message definitions for bags: ROS 2 Jazzy's common ones, and those of any package found.

Definitions of other packages come from their installed `.msg` files (ament index)
or from text that the caller hands over, so a bag always carries its own types.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from pkm_description.errors import DatasetError


def installed_definition(message_type: str) -> str | None:
    """Return the text of the installed `.msg` file of `package/msg/Name`, or None."""
    package, _, rest = message_type.partition('/')
    name = rest.rpartition('/')[2]
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        path = Path(prefix) / 'share' / package / 'msg' / f'{name}.msg'
        if prefix and path.is_file():
            return path.read_text(encoding='utf8')
    return None


def complete_typestore(message_type: str, definitions: Mapping[str, str], store: Typestore) -> None:
    """Register a type, `pkm_msgs/msg/MotorCurrents` say, and all that it is made of in `store`.

    `definitions` are texts of `.msg` files by full name, looked at before the installed files.
    """
    if message_type in store.fielddefs:
        return
    text = definitions.get(message_type) or installed_definition(message_type)
    if text is None:
        raise DatasetError(
            f"no definition of message type '{message_type}' found: source the workspace that "
            'holds it or hand its .msg text over'
        )
    try:
        types = get_types_from_msg(text, message_type)
        for name in _references(types):
            complete_typestore(name, definitions, store)
        store.register(types)
    except TypesysError as error:
        raise DatasetError(f"definition of '{message_type}' cannot be parsed: {error}") from error


def jazzy_typestore() -> Typestore:
    """Return a new typestore with the common interfaces of ROS 2 Jazzy."""
    return get_typestore(Stores.ROS2_JAZZY)


def _references(types: object) -> list[str]:
    """Names of the message types that parsed definitions refer to."""
    found: list[str] = []

    def walk(node: object) -> None:
        if isinstance(node, str) and '/msg/' in node:
            found.append(node)
        elif isinstance(node, tuple | list):
            for item in node:
                walk(item)

    assert isinstance(types, dict)
    for _, fields in types.values():
        walk(fields)
    return [name for name in dict.fromkeys(found) if name not in types]
