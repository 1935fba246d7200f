"""Import every module of the packages that are named, and so what they import at once."""

import pkgutil
import sys
from importlib import import_module

for package in sys.argv[1:]:
    for module in pkgutil.walk_packages(import_module(package).__path__, f'{package}.'):
        import_module(module.name)
