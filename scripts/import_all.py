"""Import every module of the packages that are named, and so what they import at once.

Modules that need what is not there yet (messages that are being built, also anew) are left out.
"""

import pkgutil
import sys
from contextlib import suppress
from importlib import import_module

for package in sys.argv[1:]:
    for module in pkgutil.walk_packages(import_module(package).__path__, f'{package}.'):
        with suppress(ImportError):
            import_module(module.name)
