"""Base parameters: the combinations of standard parameters that forces can show.

The null space of the parameters comes from the joints, from each body's motion and from
the regressor over random motions (`parameters.null_space`); what is left is the rank.
Representatives are chosen by their place in the mechanism (`parameters.representatives`),
and the coefficients are recognised as numbers of the geometry where they are some
[Gautier 1991; M 2.5; A Table I].
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pkm_description import EstimationError
from pkm_dynamics.array_types import Booleans, Floats
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.motion import PlatformMotion
from pkm_dynamics.parameters.geometry_numbers import expression, recognise
from pkm_dynamics.parameters.groups import ParameterSpace, build_parameter_space
from pkm_dynamics.parameters.null_space import NullSpace, Rank, parameter_sizes
from pkm_dynamics.parameters.parameter_table import checked_parameters
from pkm_dynamics.parameters.reductions import find_reduction
from pkm_dynamics.parameters.representatives import fold, preference
from pkm_dynamics.parameters.standard_parameters import parameter_scales


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Identifiable combinations beta = matrix @ p.

    Attributes
    ----------
    names : list of str
        The standard parameter (or shared group) that stands first in each combination.
    expressions : list of str
        Each combination as text.
    units : list of str
    matrix : (rank, n_p)
        beta from the standard parameters.
    columns : (n_p, rank)
        regressor(motion) = model.regressor(motion) @ columns.
    is_rigid_body : (rank,) bool
        False for friction and rotor parameters.
    coefficient_sources : list of dict
        For each combination, what its coefficients are: {'leg_slider.m': 'sum of z over
        leg1_top .. leg6_top'}; whole numbers and unrecognised ones are not listed.
    space : ParameterSpace
        The free parameters (shared, without zeros) that the combinations are made of.
    full_rank : Rank
        Rank and singular values (relative, of the regressor with columns of unit length).
    dropped : list of str
        Combinations that a reduced model leaves out though forces show them.
    without_influence : list of str
        Free parameters in no combination: no force shows them.
    level : str
        Name of the reduced model; `full` without reduction.
    model : DynamicModel
    """

    names: list[str]
    expressions: list[str]
    units: list[str]
    matrix: Floats
    columns: Floats
    is_rigid_body: Booleans
    coefficient_sources: list[dict[str, str]]
    space: ParameterSpace
    full_rank: Rank
    dropped: list[str]
    without_influence: list[str]
    level: str
    model: DynamicModel

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.names)

    @property
    def gap(self) -> float:
        """Ratio of the smallest kept to the largest dropped singular value."""
        return self.full_rank.gap

    @property
    def singular_values_at_gap(self) -> tuple[float, float]:
        """Smallest kept and largest dropped singular value, relative to the largest."""
        return self.full_rank.kept, self.full_rank.dropped

    @property
    def members(self) -> dict[str, tuple[str, ...]]:
        """Standard parameters behind each name in the expressions that stands for several."""
        space = self.space
        pairs = zip(space.labels, space.members, strict=True)
        return {label: items for label, items in pairs if len(items) > 1}

    def regressor(self, motion: PlatformMotion) -> Floats:
        """Force per base parameter (N, n_a, rank)."""
        return self.model.regressor(motion) @ self.columns

    def values(self, parameters: ArrayLike | None = None) -> Floats:
        """Base parameters (rank,) of standard parameters (n_p,), by default the nominal ones."""
        p = self.model.nominal_parameters if parameters is None else parameters
        return np.asarray(self.matrix @ np.asarray(p, dtype=float))

    def standard_parameters(self, values: ArrayLike, nominal: ArrayLike | None = None) -> Floats:
        """Standard parameters (n_p,) with these base values, nearest to the nominal ones.

        `matrix @ p` equals `values`; parameters of one design stay equal and declared
        zeros stay zero. The bodies need not be physical. Distances are weighted by
        `parameter_scales`.
        """
        beta = np.asarray(values, dtype=float)
        if beta.shape != (self.rank,) or not np.all(np.isfinite(beta)):
            raise EstimationError(
                f'values must be {self.rank} finite numbers, one a base parameter, not the shape '
                f'{beta.shape}'
            )
        start = checked_parameters(nominal, self.model.nominal_parameters)
        free = self.space.reduce(start)
        scale = self.space.reduce(parameter_scales(self.model, start))
        combinations = self.matrix @ self.space.expand
        for _ in range(2):  # the second step takes out the rounding of the first
            missing = beta - combinations @ free
            free = free + scale * np.linalg.lstsq(combinations * scale, missing, rcond=None)[0]
        return np.asarray(self.space.expand @ free)

    def rows(self) -> list[dict[str, Any]]:
        """Return name, nominal value, unit, expression and coefficient sources of each."""
        nominal, sources = self.values().tolist(), map(dict, self.coefficient_sources)
        columns = (self.names, nominal, self.units, self.expressions, sources)
        keys = ('name', 'nominal', 'unit', 'expression', 'sources')
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def table(self, sources: bool = False) -> list[str]:
        """Return the base parameters as lines of text, groups and singular values after them.

        With `sources`, what each coefficient is in the geometry, below its line.
        """
        width = max((len(name) for name in self.names), default=0)
        lines = []
        for row in self.rows():
            lines.append(
                f'{row["name"]:<{width}}  {row["nominal"]:>12.6g} {row["unit"]:<9}  '
                f'{row["expression"]}'
            )
            for label, text in row['sources'].items() if sources else ():
                lines.append(f'{"":<{width}}  {"":>12} {"":<9}    {label}: {text}')
        return lines + self.notes()

    def notes(self) -> list[str]:
        """Say what is left out, what names stand for, and how clear the rank is."""
        lines = [f'left out: {expression}' for expression in self.dropped]
        lines += self._meanings()
        kept, dropped = self.singular_values_at_gap
        lines.append(
            f'rank {self.full_rank.value} of {len(self.space.labels)} free parameters: singular '
            f'values fall from {kept:.2g} to {dropped:.2g} of the largest'
        )
        return lines

    def _meanings(self) -> list[str]:
        """Say what names in the expressions stand for, where it is more than one parameter."""
        designs: dict[str, tuple[str, ...]] = {}
        equal = []
        names = self.model.parameter_names
        for label, items in self.members.items():
            owners = tuple(dict.fromkeys(item.rpartition('.')[0] for item in items))
            if len(owners) > 1:
                designs.setdefault(label.rpartition('.')[0], owners)
            column = self.space.expand[:, self.space.labels.index(label)]
            for item in items:
                factor = column[names.index(item)]
                if item.rpartition('.')[2] != label.rpartition('.')[2]:
                    equal.append(f'{item} = {"" if factor == 1.0 else f"{factor:.6g}*"}{label}')
        shared = [f'{name} stands for {", ".join(items)}' for name, items in designs.items()]
        return shared + equal


def build_base_parameters(
    model: DynamicModel, shared: bool, reduced: bool | str, null_space: NullSpace
) -> BaseParameters:
    """Derive the base parameters of a model from its null space.

    With `shared`, links and joints of one design share their parameters; for `reduced` see
    `parameters.reductions.find_reduction`. Raises EstimationError where the rank is not clear
    or there is no such level, DescriptionError where declared zeros or equalities contradict
    the description.
    """
    reduction = find_reduction(model.description, reduced)
    shared = shared or reduction.shared
    space = build_parameter_space(model, shared, reduction)
    sizes = space.expand.T @ parameter_sizes(model) / np.sum(space.expand != 0, axis=0)
    null = null_space.within(space.expand, sizes)
    rank = null_space.rank(space.expand)
    if rank.value + len(null) != len(space.labels):
        raise EstimationError(
            f"robot '{model.description.name}': the rank of the regressor is not clear: "
            f'{rank.value} of {len(space.labels)} by singular values, '
            f'{len(space.labels) - len(null)} by elimination'
        )
    kept, folded, scaled = fold(null, preference(model, space, null_space.places))
    coefficients = scaled * sizes[kept][:, None] / sizes[folded]
    sources = recognise(model, shared, coefficients, space, kept, folded)
    matrix = np.zeros((len(kept), len(space.labels)))
    matrix[np.arange(len(kept)), kept] = 1.0
    matrix[:, folded] = coefficients
    expressions = [expression(row, space.labels, i) for row, i in zip(matrix, kept, strict=True)]
    stays = np.array([_stays(space, i, reduction.keep) for i in kept], dtype=bool)
    stay = np.flatnonzero(stays).tolist()
    _check_keep(reduction.keep, reduction.name, [space.labels[i] for i in kept])
    return BaseParameters(
        names=[space.labels[kept[r]] for r in stay],
        expressions=[expressions[r] for r in stay],
        units=[space.units[kept[r]] for r in stay],
        matrix=matrix[stay] @ space.average,
        columns=space.expand[:, [kept[r] for r in stay]],
        is_rigid_body=np.array([space.kinds[kept[r]] == 'rigid_body' for r in stay], dtype=bool),
        coefficient_sources=[sources[r] for r in stay],
        space=space,
        full_rank=rank,
        dropped=[expressions[r] for r in np.flatnonzero(~stays)],
        without_influence=[space.labels[i] for i in np.flatnonzero(~matrix.any(axis=0))],
        level=reduction.name,
        model=model,
    )


def _stays(space: ParameterSpace, index: int, keep: tuple[str, ...]) -> bool:
    """Whether a reduced model estimates the base parameter; friction always stays."""
    if not keep or space.kinds[index] != 'rigid_body':
        return True
    return any(fnmatchcase(space.labels[index], pattern) for pattern in keep)


def _check_keep(keep: tuple[str, ...], level: str, names: list[str]) -> None:
    for pattern in keep:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise EstimationError(
                f"keep of reduced model '{level}': '{pattern}' matches no base parameter; they "
                f'are {", ".join(names)}'
            )
