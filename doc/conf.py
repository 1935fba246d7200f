"""Sphinx: the site of all packages, from the pages where they stand.

The source folder is the root of the checkout, so that links between pages are the same here, in an
editor and in a repository browser. rosdoc2 takes the README and `doc/` of each package as they are.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / 'doc' / 'extensions'), str(ROOT / 'scripts')]

project = 'pkm'
author = 'the authors of pkm'
copyright = author
root_doc = 'doc/index'
extensions = [
    'myst_parser',
    'sphinx-mathjax-offline',  # formulas without network
    'sphinx.ext.autodoc',
    'sphinx.ext.napoleon',  # docstrings in NumPy's form
    'api_entries',
    'node_pages',
]
include_patterns = [
    'doc/**.md',
    'README.md',
    'ARCHITECTURE.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    'QUALITY_DECLARATION.md',
    'pkm_*/README.md',
    'pkm_*/doc/**.md',
]
exclude_patterns = ['.*', 'build', 'install', 'log', 'tests', '**/node_modules']
suppress_warnings = [
    'myst.header'  # READMEs of rosdoc2's form may begin with any level
]

myst_enable_extensions = ['dollarmath', 'deflist', 'html_image', 'colon_fence']
myst_heading_anchors = 4
myst_fence_as_directive = []

# Types of arrays that signatures name as the sources do.
ARRAYS = ('Array', 'ArrayLike', 'Booleans', 'Floats', 'Indices', 'Integers', 'Mask')
default_role = 'literal'  # single backquotes in docstrings
autodoc_member_order = 'bysource'
autodoc_typehints_format = 'short'
autodoc_type_aliases = {name: name for name in ARRAYS}
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_custom_sections = [('Attributes', 'params_style')]  # a list, also of several names

html_theme = 'furo'
html_title = 'Dynamics of parallel robots on ROS 2'
html_show_copyright = False
html_copy_source = False
html_extra_path = ['site']
pygments_style = 'friendly'
