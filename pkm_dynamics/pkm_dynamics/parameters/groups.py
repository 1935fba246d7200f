"""Free parameters: what standard parameters share, and which are zero or equal."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from pkm_description import DescriptionError
from pkm_dynamics.array_types import Booleans, Floats
from pkm_dynamics.equations.dynamic_model import DynamicModel
from pkm_dynamics.parameters.parameter_table import zero_mask
from pkm_dynamics.parameters.reductions import Reduction

_TERM = re.compile(r'^\s*(?:([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*\*\s*)?(-?)\s*([^\s*][^\s]*)\s*$')


@dataclass(frozen=True)
class ParameterSpace:
    """Free parameters g that stand for the standard parameters p = expand @ g."""

    # names of the free parameters: that of the standard parameter, or of the design
    labels: list[str]
    expand: Floats  # (n_p, n_g)
    # (n_g, n_p) left inverse: g from the standard parameters, means over what is shared
    average: Floats
    members: list[tuple[str, ...]]  # standard parameters that each free one stands for
    units: list[str]
    kinds: list[str]

    def reduce(self, values: Floats) -> Floats:
        """Free parameters (n_g,) of standard parameters (n_p,)."""
        return self.average @ values


def build_parameter_space(
    model: DynamicModel, shared: bool, reduction: Reduction | None = None
) -> ParameterSpace:
    """Free parameters of a model with shared designs and a reduction.

    A group is left out where all of its members are declared zero. Raises DescriptionError
    where a declared relation names no parameter, contradicts another one or the nominal values.
    """
    labels, groups = parameter_groups(model, shared)
    expand = groups.copy()
    keep = np.ones(len(labels), dtype=bool)
    if reduction is not None:
        zero = zero_mask(reduction.zero, model.parameter_names, model.nominal_parameters)
        keep = np.array([not np.all(zero[column != 0]) for column in groups.T], dtype=bool)
        for relation in relations(model, reduction.equal):
            _join(expand, keep, relation, model)
    first = np.argmax(groups != 0, axis=0)[keep]
    units = [model.parameter_units[i] for i in first]
    expand = expand[:, keep]
    # What is equal up to a length is not averaged with the others.
    same = np.array(units)[:, None] == np.array(model.parameter_units)
    weights = np.where(same, expand.T, 0.0)
    return ParameterSpace(
        labels=[label for label, kept in zip(labels, keep, strict=True) if kept],
        expand=expand,
        average=weights / np.sum(weights**2, axis=1)[:, None],
        members=[
            tuple(model.parameter_names[i] for i in np.flatnonzero(column)) for column in expand.T
        ],
        units=units,
        kinds=[model.parameter_kinds[i] for i in first],
    )


def parameter_groups(model: DynamicModel, shared: bool) -> tuple[list[str], Floats]:
    """Return what parameters share: labels of the groups and p = expand @ groups (n_p, n_g).

    With `shared`, parameters of links or joints of one design are one group; a link and
    a joint of one name share with their own kind only. Forces of drives by their position are
    those of the single drive: an offset, the phase of a ripple.
    """
    owner: dict[tuple[bool, str], tuple[str, ...]] = {}
    links = {link.name for link in model.description.links}
    if shared:
        for group in model.description.same_design:
            of_links = all(name in links for name in group)
            owner.update(dict.fromkeys([(of_links, name) for name in group], group))
    index: dict[tuple[bool, tuple[str, ...], str], int] = {}
    columns = []
    for name, kind in zip(model.parameter_names, model.parameter_kinds, strict=True):
        owner_name, _, field = name.rpartition('.')
        of_link, own = kind == 'rigid_body', (owner_name,)
        members = own if kind == 'drive' else owner.get((of_link, owner_name), own)
        key = (of_link, members, field)
        columns.append(index.setdefault(key, len(index)))
    expand = np.zeros((model.n_p, len(index)))
    expand[np.arange(model.n_p), columns] = 1.0
    short = [f'{group_name(members)}.{field}' for _, members, field in index]
    plain = [f'{members[0]}.{field}' for _, members, field in index]
    # The common part of the names is used where it says which group is meant.
    labels = [a if short.count(a) == 1 else b for a, b in zip(short, plain, strict=True)]
    return labels, expand


def group_name(members: tuple[str, ...]) -> str:
    """Name what members of one design share: leg1_slider, leg2_slider -> leg_slider."""
    stripped = {re.sub(r'\d+', '', name) for name in members}
    if len(members) > 1 and len(stripped) == 1:
        return re.sub(r'_+', '_', stripped.pop()).strip('_')
    return members[0]


def relations(
    model: DynamicModel, equal: Iterable[tuple[str, ...]]
) -> list[list[tuple[float, int]]]:
    """Factors and parameter indices of the terms that are declared equal to each other.

    A link pattern stands for each link that it matches: `[leg*_rod.Ixx, leg*_rod.Iyy]`
    makes the two equal within every rod.
    """
    found = []
    for relation in relation_terms(model.parameter_names, equal):
        indices = [(factor, model.parameter_names.index(name)) for factor, name in relation]
        if not _agree([factor * model.nominal_parameters[i] for factor, i in indices]):
            shown = ', '.join(
                f'{model.parameter_names[i]} = {model.nominal_parameters[i]:.6g}'
                for _, i in indices
            )
            raise DescriptionError(f'equal_parameters are not equal in the description: {shown}')
        found.append(indices)
    return found


def relation_terms(
    names: Sequence[str], equal: Iterable[Sequence[str]]
) -> list[list[tuple[float, str]]]:
    """Factors and names of the terms that are declared equal; see `relations`."""
    found = []
    for texts in equal:
        terms = [_parse(text) for text in texts]
        patterns = {name.rpartition('.')[0] for _, name in terms if _is_pattern(name)}
        if len(patterns) > 1:
            raise DescriptionError(
                f'equal_parameters: {list(texts)} has more than one pattern of links'
            )
        owners = [''] if not patterns else _owners(names, patterns.copy().pop(), texts)
        for owner in owners:
            relation = []
            for factor, name in terms:
                full = f'{owner}.{name.rpartition(".")[2]}' if _is_pattern(name) else name
                if full not in names:
                    raise DescriptionError(f"equal_parameters: there is no parameter '{full}'")
                relation.append((factor, full))
            found.append(relation)
    return found


def relation_holds(texts: Sequence[str], parameters: Mapping[str, float]) -> bool:
    """Whether parameters by name keep what is declared equal; all it names must be there."""
    return all(
        _agree([factor * parameters[name] for factor, name in relation])
        for relation in relation_terms(list(parameters), [texts])
    )


def _agree(values: Sequence[float]) -> bool:
    """What is equal by design is so in the numbers, but for their last digits."""
    return max(values) - min(values) <= 1e-6 * max(map(abs, values))


def _parse(text: str) -> tuple[float, str]:
    match, factor = _TERM.match(text), 0.0
    if match is not None:
        with contextlib.suppress(ValueError):
            factor = float(match[1] or 1.0) * (-1.0 if match[2] else 1.0)
    if match is None or factor == 0.0 or not np.isfinite(factor):
        raise DescriptionError(
            f"equal_parameters: '{text}' is not <parameter> or <number>*<parameter>"
        )
    return factor, match[3]


def _is_pattern(name: str) -> bool:
    return any(character in name for character in '*?[')


def _owners(parameters: Iterable[str], pattern: str, texts: Iterable[str]) -> list[str]:
    names = dict.fromkeys(name.rpartition('.')[0] for name in parameters)
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise DescriptionError(f'equal_parameters: {list(texts)} matches no parameter')
    return found


def _join(
    expand: Floats, keep: Booleans, relation: list[tuple[float, int]], model: DynamicModel
) -> None:
    """Let the terms' free parameters become one; changes `expand` and `keep`.

    A mass or moment stands for an inertia that is a multiple of it, else the first term.
    """
    order = {'kg': 0, 'kg m': 1}
    first, *others = sorted(
        relation, key=lambda term: order.get(model.parameter_units[term[1]], len(order))
    )
    for factor, i in others:
        a, b = (np.flatnonzero(keep & (expand[k] != 0)) for k in (first[1], i))
        if len(a) == 0 or len(b) == 0:
            continue  # declared zero
        ratio = first[0] * expand[first[1], a[0]] / (factor * expand[i, b[0]])
        if a[0] != b[0]:
            expand[:, a[0]] += ratio * expand[:, b[0]]
            keep[b[0]] = False
        elif abs(ratio - 1.0) > 1e-9:
            raise DescriptionError(
                f"equal_parameters contradict each other for '{model.parameter_names[i]}'"
            )
