"""Names of a package that are imported when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, modules: Mapping[str, str], *others: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    `modules` gives the module below `package` of each public name; `others` are public names that
    the package has at once.
    """
    public = sorted({*modules, *others})

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(import_module(f'{package}.{modules[name]}'), name)

    return get, lambda: sorted({*vars(import_module(package)), *public}), public
