"""C++17 of one robot: a header, a source without dependencies, and their build."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pkm_description import Description
from pkm_description.actuation.hydraulic_drives import hydraulic_losses
from pkm_description.actuation.redundant_drives import refuse_redundant_actuation
from pkm_description.errors import ExportError
from pkm_description.kinematic_tree import FIXED, FLOATING, PRISMATIC
from pkm_dynamics.codegen import mechanism_equations as equations
from pkm_dynamics.codegen.programs import BUILDERS
from pkm_dynamics.cpp.emitter import filled, function_text, literal
from pkm_dynamics.cpp.parity import parity_source
from pkm_dynamics.drive_forces import COSINE, OFFSET, SINE, STIFFNESS
from pkm_dynamics.friction_laws import LAWS, DriveFriction
from pkm_dynamics.layout import LARGEST_STEP, LEAST_DETERMINANT, RESIDUAL_TOLERANCE, TURN_TOLERANCE
from pkm_dynamics.mechanism import Mechanism
from pkm_dynamics.model import ClosedChainModel

# Names of generated functions by those of their programs.
INLINE = ('approach', 'dynamics')
SOLVED = ('systems', 'bias', 'forces')
ALWAYS = ('pose', 'columns', 'inertial')
OF_PLATFORM = ('newton', 'branch', 'actuated')
DRIVE_KINDS = {OFFSET: 0, STIFFNESS: 1, COSINE: 2, SINE: 3}
LAW_KINDS = {'stribeck': 1, 'atan': 2, 'power': 3}
FOLDER = Path(__file__).parent
# Not every mechanism uses every table, and clang warns of that.
CONSTANT = '[[maybe_unused]] static constexpr'


@dataclass(frozen=True)
class CppSources:
    """Files of a C++ package by their names, and what of the model they lack."""

    files: Mapping[str, str]
    losses: tuple[str, ...] = ()


def build_cpp(
    model: ClosedChainModel, friction: DriveFriction | None = None, remarks: Iterable[str] = ()
) -> CppSources:
    """Write a model with its nominal parameters as C++17.

    Parameters
    ----------
    model
        The robot; its numbers are those of the C++.
    friction
        Friction laws of the drives beyond the parameters.
    remarks
        Lines for comments at the head of the files.

    Returns
    -------
    CppSources
        `<robot>_model.hpp` and `.cpp`, programs that time it and compare it with Python, and
        `CMakeLists.txt`. Friction that depends on loads or on the past is left out and named.

    Raises
    ------
    ExportError
        A joint of the robot has no drive: nothing here distributes forces then.
    RedundantActuationError
        The robot has more drives than degrees of freedom.
    """
    refuse_redundant_actuation(model.description, 'C++')
    if model.free_joints:
        listed = ', '.join(model.free_joints)
        raise ExportError(f'C++ is written of robots that are driven in full, not with {listed}')
    name = cpp_name(model.description)
    head = ''.join(f'// {line}\n' for remark in remarks for line in remark.splitlines())
    writer = _Writer(model, friction, name)
    template = (FOLDER / 'header.hpp').read_text()
    files = {
        f'{name}_model.hpp': head + filled(template, writer.header_values()),
        f'{name}_model.cpp': head + writer.source(),
        f'{name}_benchmark.cpp': filled((FOLDER / 'benchmark.cpp').read_text(), {'name': name}),
        f'{name}_parity.cpp': parity_source(model, friction, name, writer.parameter_names()),
        'CMakeLists.txt': filled((FOLDER / 'CMakeLists.txt').read_text(), {'name': name}),
    }
    return CppSources(files, tuple(writer.losses))


def cpp_name(description: Description) -> str:
    """Name of a robot in C++: of its namespace and its files."""
    return re.sub(r'\W', '_', description.name)


class _Writer:
    def __init__(self, model: ClosedChainModel, friction: DriveFriction | None, name: str) -> None:
        self.model, self.m, self.name = model, model.mechanism, name
        self.friction = friction
        self.is_inline = equations.is_inline(self.m)
        self.known = model.counting_parameters(None)[: self.m.n_parameters].tolist()
        self.losses = self._losses()

    def _losses(self) -> list[str]:
        found = [
            f"joint '{place.name}': friction that grows with its load is no part of the C++"
            for place in self.model.loaded_places
            if place.friction.load
        ]
        found += hydraulic_losses(self.model.description, 'the C++')
        for joint, terms in self.model.description.drive_terms.items():
            lost = ['presliding'] if terms.presliding is not None else []
            lost += ['warm-up'] if terms.warm_up is not None else []
            found += [f"joint '{joint}': {each} is no part of the C++" for each in lost]
        return found

    def header_values(self) -> dict[str, str]:
        """Values of the header's template."""
        model, names = self.model, self.parameter_names()
        return {
            'name': self.name,
            'guard': f'PKM_{self.name.upper()}_MODEL_HPP',
            'actuators': str(model.n_a),
            'joints': str(len(model.joint_names)),
            'parameters': str(len(names)),
            'actuator_names': ', '.join(f'"{each}"' for each in model.actuated_joints),
            'actuator_joints': ', '.join(str(int(k)) for k in self.m.actuated_scalar),
            'joint_names': ', '.join(f'"{each}"' for each in model.joint_names),
            'parameter_names': ',\n    '.join(f'"{each}"' for each in names),
            'platform': 'true' if model.platform_determines_joints else 'false',
        }

    def parameter_names(self) -> list[str]:
        """Names of the parameters that C++ has, in the order of its regressor."""
        names = [self.model.parameter_names[k] for k in range(self.m.n_parameters)]
        return names + [self.model.drive_forces.names[k] for k in self._drives()]

    def _drives(self) -> list[int]:
        """Terms of the drives that C++ has: all but the warm-up."""
        kinds = self.model.drive_forces.kinds.tolist()
        return [k for k, kind in enumerate(kinds) if kind in DRIVE_KINDS]

    def source(self) -> str:
        """The source: tables, generated functions, loops on them."""
        parts = [
            f'#include "{self.name}_model.hpp"\n\n#include <cmath>\n\n',
            f'namespace pkm::{self.name} {{\nnamespace {{\n\n',
            (FOLDER / 'terms.hpp').read_text(),
            '\n',
            self._robot(),
            '\n',
            *(f'{self._function(each)}\n' for each in self._programs()),
            *(f'{(FOLDER / each).read_text()}\n' for each in self._loops()),
            '\n}  // namespace\n\n',
            (FOLDER / 'functions.hpp').read_text(),
            f'\n}}  // namespace pkm::{self.name}\n',
        ]
        return ''.join(parts)

    def _loops(self) -> list[str]:
        if not self.is_inline:
            return ['closed_chain.hpp', 'loops_solved.hpp']
        by_platform = bool(self.m.independent_is_platform)
        rates = 'rates_of_platform.hpp' if by_platform else 'rates_of_actuators.hpp'
        return ['closed_chain.hpp', 'loops_inline.hpp', rates]

    def _programs(self) -> list[str]:
        names = [*ALWAYS, *(INLINE if self.is_inline else SOLVED)]
        if self.is_inline and self.m.independent_is_platform:
            names += OF_PLATFORM
        return names

    def _function(self, program: str) -> str:
        known = (self.known,) if program in ('dynamics', 'forces') else ()
        graph, outputs = BUILDERS[program](self.m, *known)
        return function_text(f'Robot::{_FUNCTION.get(program, program)}', graph, outputs)

    def _robot(self) -> str:
        m, model, tree = self.m, self.model, self.m.tree
        n_b, n_a = len(m.inertial_body), model.n_a
        others = [*m.friction_parameter.tolist(), *m.rotor_parameter.tolist()]
        sizes = np.diff(m.component_start)
        drives, kinds = self._drives(), model.drive_forces
        integers = {
            'rows': len(tree.row_kind),
            'velocities': tree.n_v,
            'independents': len(m.independent),
            'dependents': len(m.component_rows),
            'components': len(sizes),
            'largest_component': int(sizes.max(initial=0)),
            'systems_outputs': len(tree.row_kind)
            + int((sizes**2).sum())
            + len(m.component_rows) * len(m.independent),
            'bodies': n_b,
            'other_parameters': len(others),
            'columns_outputs': n_b * (9 + 6 * n_a) + len(others) * n_a,
            'spinning_bodies': len(model.averages),
            'first_drive_parameter': m.n_parameters,
            'drive_terms': len(drives),
            'floating_coordinate': _floating(m),
        }
        flags = {
            'platform_is_independent': bool(m.independent_is_platform),
            'has_laws': any(law in LAW_KINDS for law in self._law_names()),
        }
        numbers = {
            'length_scale': float(m.length_scale),
            'actuation_determinant': float(m.actuation_determinant),
            'transition_velocity': float(m.transition_velocity),
            'largest_step': LARGEST_STEP,
            'turn_tolerance': TURN_TOLERANCE,
            'residual_tolerance': RESIDUAL_TOLERANCE,
            'least_determinant': LEAST_DETERMINANT,
        }
        integer_arrays: dict[str, Any] = {
            'component_start': m.component_start,
            'component_coordinates': m.component_coordinates,
            'component_rows': m.component_rows,
            'independent': m.independent,
            'actuated': m.actuated,
            'actuated_joint': m.actuated_scalar,
            'joint_coordinate': _joint_coordinates(m),
            'other_parameter': others,
            'spinning_parameter': [columns.start for columns, _ in model.averages],
        }
        terms = [
            f'{{{int(kinds.actuators[k])}, {DRIVE_KINDS[int(kinds.kinds[k])]}, '
            f'{literal(kinds.numbers[k])}, {literal(kinds.values[k])}}}'
            for k in drives
        ]
        home = ', '.join(
            f'{{{", ".join(literal(x) for x in np.ravel(each))}}}'
            for each in (model.home_joints, model.home_position, model.home_rotation)
        )
        lines = ['struct Robot {']
        lines += [f'  {CONSTANT} int {key} = {value};' for key, value in integers.items()]
        lines += [
            f'  {CONSTANT} bool {key} = {str(value).lower()};' for key, value in flags.items()
        ]
        lines += [
            f'  {CONSTANT} double {key} = {literal(value)};' for key, value in numbers.items()
        ]
        lines += [
            _array('int', key, [str(int(value)) for value in each])
            for key, each in integer_arrays.items()
        ]
        lines.append(_doubles('component_determinant', m.component_determinant.tolist()))
        lines.append(_doubles('change_factor', _change_factors(m)))
        averages = [average.ravel().tolist() for _, average in model.averages]
        lines.append(_doubles('average', sum(averages, [])))
        lines.append(_array('DriveTerm', 'terms', terms or ['{0, 0, 0.0, 0.0}']))
        lines.append(_array('FrictionLaw', 'laws', self._laws()))
        lines.append(f'  static Configuration home() noexcept {{ return {{{home}}}; }}')
        lines += [
            f'  static void {_FUNCTION.get(each, each)}(const double* in, double* out) noexcept;'
            for each in self._programs()
        ]
        return '\n'.join([*lines, '};\n'])

    def _law_names(self) -> tuple[str, ...]:
        return () if self.friction is None else self.friction.laws

    def _laws(self) -> list[str]:
        """Friction law of each drive: kind, amplitude and two further numbers."""
        none = '{0, 0.0, 0.0, 0.0}'
        if self.friction is None:
            return [none] * self.model.n_a
        given = dict(zip(self.friction.names, self.friction.values.tolist(), strict=True))
        found = []
        for joint, law in zip(self.friction.joint_names, self.friction.laws, strict=True):
            values = [given[f'{joint}.{field}'] for field in LAWS[law].fields]
            values += [0.0] * (3 - len(values))
            kind = LAW_KINDS.get(law, 0)
            found.append(f'{{{kind}, {", ".join(literal(x) for x in values)}}}' if kind else none)
        return found


_FUNCTION = {'actuated': 'actuated_rates'}  # that is an array of the tables


def _array(kind: str, name: str, values: Iterable[str]) -> str:
    listed: Sequence[str] = list(values) or ['0']
    return f'  {CONSTANT} {kind} {name}[] = {{{", ".join(listed)}}};'


def _doubles(name: str, values: Iterable[float]) -> str:
    return _array('double', name, [literal(value) for value in values])


def _floating(m: Mechanism) -> int:
    """First coordinate of the floating platform, -1 where there is none."""
    body = int(m.tree.floating_body)
    return -1 if body < 0 else int(m.tree.coordinate[body])


def _joint_coordinates(m: Mechanism) -> list[int]:
    """Coordinate of each scalar joint."""
    pairs: list[tuple[int, Any]] = [
        (int(index), int(m.tree.coordinate[body]))
        for body, index in enumerate(m.tree.scalar_index.tolist())
        if index >= 0
    ]
    return [coordinate for _, coordinate in sorted(pairs)]


def _change_factors(m: Mechanism) -> list[float]:
    """What makes changes of the coordinates comparable: 1 for angles, lengths over the size."""
    factors = np.zeros(m.tree.n_v)
    for body, kind in enumerate(m.tree.joint_kind.tolist()):
        first = int(m.tree.coordinate[body])
        if kind == FLOATING:
            factors[first : first + 3], factors[first + 3 : first + 6] = 1.0 / m.length_scale, 1.0
        elif kind != FIXED:
            factors[first] = 1.0 / m.length_scale if kind == PRISMATIC else 1.0
    return factors.tolist()
