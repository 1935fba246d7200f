"""Plain tree URDF: what every existing URDF tool reads."""

from __future__ import annotations

from lxml import etree

from pkm_description.description import Description
from pkm_description.errors import ExportError


def export_urdf_tree(description: Description) -> str:
    """Write the spanning tree of a robot as plain URDF.

    The `<constraint>` elements are dropped and everything else is kept, so joint
    names, limits, inertias and the `<ros2_control>` block stay as described. The
    loops are open in the result.

    Raises
    ------
    ExportError
        If the description carries no URDF text.
    """
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    try:
        robot = etree.fromstring(description.urdf.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise ExportError(
            f"robot '{description.name}': its URDF text is not XML ({error})"
        ) from error
    for constraint in robot.findall('constraint'):
        robot.remove(constraint)
    etree.indent(robot)
    text: bytes = etree.tostring(
        robot, encoding='UTF-8', xml_declaration=True, pretty_print=True
    )
    return text.decode()
