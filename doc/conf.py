"""Sphinx: the site of all packages, from the pages where they stand.

The source folder is the root of the checkout, so that links between pages are the same here, in an
editor and in a repository browser. rosdoc2 takes the README and `doc/` of each package as they are.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / 'doc' / 'extensions'), str(ROOT / 'tests' / 'helpers')]

project = 'pkm'
author = 'the authors of pkm'
copyright = author
root_doc = 'doc/index'
extensions = ['myst_parser', 'sphinx-mathjax-offline', 'node_pages']  # formulas without network
include_patterns = [
    'doc/**.md',
    'README.md',
    'ARCHITECTURE.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
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


html_theme = 'furo'
html_title = 'Dynamics of parallel robots on ROS 2'
html_show_copyright = False
html_copy_source = False
html_extra_path = ['site']
pygments_style = 'friendly'
