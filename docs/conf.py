"""Configuration of the documentation: ``sphinx-build -W docs site`` in the repository's root."""

import sys
from pathlib import Path

import numgrad

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "tests")]  # the samples of tests tell dtypes

project = "numgrad"
author = "the numgrad authors"
copyright = author
version = release = numgrad.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "numgrad_reference",
]

exclude_patterns = ["_extensions"]
templates_path: list[str] = []

nitpicky = False
default_role = "code"
add_module_names = False
toc_object_entries = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # notebooks are kept with their outputs, which the tests check

autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "pydata_sphinx_theme"
html_title = "numgrad"
html_static_path = ["_static"]
html_css_files = ["numgrad.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
