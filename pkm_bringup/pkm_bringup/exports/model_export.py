"""Identified models in the formats of other tools."""

from __future__ import annotations

from dataclasses import replace

import pkm_description
from pkm_bringup.exports.export_parity import export_parity
from pkm_bringup.offline import feedforward_of
from pkm_control.cpp_controller import controller_headers, learned_header, ros2_control_package
from pkm_control.learning.learned_force import model_digest
from pkm_control.learning.learning_file import load_learning
from pkm_description import Description
from pkm_description.errors import ExportError
from pkm_description.exporters import Exported
from pkm_description.exporters.exported import refuse_losses
from pkm_dynamics import ClosedChainModel
from pkm_dynamics.cpp import CppSources, build_cpp, build_solver
from pkm_identification import load_result
from pkm_identification.result.identified_robot import identified_robot, source_of
from pkm_identification.result.payload_formats import payload_text

CPP_FORMS = ('ros2_control', 'inverse_dynamics_solver')


def export_model(
    description: Description, file: str | None, to: str, form: str | None, strict: bool
) -> tuple[Exported, tuple[str, ...]]:
    """Write the model of a file as a format; the export, and what is to be said of it.

    Raises ExportError where there is no model, or something is lost and `strict` forbids it.
    """
    if file is None:
        raise ExportError(f'{to} is written from an identified model: name it by --model')
    result = load_result(file, ClosedChainModel(description))
    if to == 'payload':
        if form is not None:
            raise ExportError(f"payload has no form '{form}'")
        exported = Exported(*payload_text(result.payloads, source_of(result)))
        parity = None
    else:
        robot = identified_robot(result)
        built = pkm_description.build_export(robot.description, to, form, False, robot.remarks)
        lost = (*robot.losses, *robot.law_losses, *built.losses)
        exported = replace(built, losses=lost)
        # the loops of a tree are open: it has other forces
        parity = None if form == 'tree' else export_parity(result, robot.description, exported, to)
    if strict:
        refuse_losses(description.name, to, exported.losses)
    return exported, () if parity is None else (str(parity),)


def export_cpp(
    description: Description,
    file: str | None,
    form: str | None,
    strict: bool,
    learned: str | None = None,
) -> CppSources:
    """Write the numbers of a description, or the model of a file, as C++ or a package with it.

    With what was `learned` of a motion with that model, a file, as tables beside the controller.
    Raises ExportError where something is lost and `strict` forbids it, or it was learned with
    another model; LearningError where its file is broken.
    """
    if form not in (None, *CPP_FORMS):
        raise ExportError(f"cpp has no form '{form}'")
    if learned is not None and form is not None:
        raise ExportError(f"what was learned goes with the plain form of cpp, not with '{form}'")
    build = build_solver if form == 'inverse_dynamics_solver' else build_cpp
    model = ClosedChainModel(description)
    tables = {} if learned is None else _learned(model, file, learned)
    if file is None:
        sources = build(model)
    else:
        result = load_result(file, model)
        robot, friction = identified_robot(result), result.drive_friction
        law = None if friction is None else friction.law
        model = ClosedChainModel(robot.description)
        built = build(model, law, robot.remarks)
        sources = replace(built, losses=(*robot.losses, *built.losses))
    if strict:
        refuse_losses(description.name, 'C++', sources.losses)
    if form == 'ros2_control':
        return ros2_control_package(sources, model)
    if form is None:
        return replace(sources, files={**sources.files, **controller_headers(model), **tables})
    return sources


def _learned(model: ClosedChainModel, file: str | None, learned: str) -> dict[str, str]:
    """Tables of what was learned with the model of a file, or the numbers of the description."""
    learning = load_learning(learned, model)
    header = learned_header(model, learning)
    feedforward = feedforward_of(model, 'nominal' if file is None else file)
    if learning.key.model != model_digest(model, feedforward):
        raise ExportError(f"'{learned}' was learned with another model")
    return header
