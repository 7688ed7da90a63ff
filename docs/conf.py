"""How the documentation is built: `make docs`, without a network and without a warning."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE / "gallery")]  # the pages import `lessons`
os.environ.setdefault("LOWDIM_DATA", str(HERE.parent.parent / "shared" / "data"))

import derived  # noqa: E402  what the registry and the catalogues say, as pages
from gallery_pages import executed, plots_and_figures  # noqa: E402

import lowdim  # noqa: E402

project = author = "lowdim"
project_copyright = "the authors of lowdim"
version = release = lowdim.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "formulas",
    "repository_links",
    "docstrings",
]
root_doc = "index"
exclude_patterns = ["_ext", "_templates", "gallery/**"]
templates_path = ["_templates"]
nitpicky = False
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the gallery's options hold functions, which Sphinx cannot store
default_role = "code"

# --- pages that are derived -------------------------------------------------------------------------------------
derived.write(HERE / "_generated")

# --- docstrings -------------------------------------------------------------------------------------------------
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # numpydoc has them in words
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# --- gallery ----------------------------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["_generated/gallery"],
    "filename_pattern": executed(HERE / "gallery", quick=bool(os.environ.get("QUICK"))),
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": (plots_and_figures,),
    "capture_repr": (),
    "backreferences_dir": "_generated/examples_of",
    "doc_module": ("lowdim",),
    "reference_url": {"lowdim": None},
    "abort_on_example_error": True,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # how long a page took says something of the machine alone
    "remove_config_comments": True,
    "plot_gallery": True,
}

# --- look -------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "lowdim"
html_static_path = ["_static"]
html_css_files = ["lowdim.css"]
html_copy_source = html_show_sourcelink = html_show_sphinx = False
ALONE = """index five_minutes which_method sharp_bits coming_from promises glossary published reliability sources audit
    _generated/messages _generated/commands _generated/reach"""  # pages without others below them
html_sidebars = {page: [] for page in ALONE.split()}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 4,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
