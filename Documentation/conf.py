# SPDX-License-Identifier: MIT
"""Sphinx configuration of the documents; scripts/build-docs.sh runs it."""

# pylint: disable=invalid-name
project = "Tessera"
author = "Tessera maintainers"
project_copyright = "Tessera maintainers"

extensions = ["myst_parser", "sphinx.ext.graphviz"]
root_doc = "index"

# A reference that leads nowhere is a warning, and build-docs.sh makes it an error.
nitpicky = True
# Types in a prototype become references, also those that no page describes. References in the
# text have other roles.
nitpick_ignore_regex = [("c:identifier", ".*")]

primary_domain = "c"
highlight_language = "none"

graphviz_output_format = "svg"

html_theme = "alabaster"
html_theme_options = {
    "description": "a virtual GPU for GPU memory management",
    "fixed_sidebar": True,
    "page_width": "70em",
}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}
html_copy_source = False
html_show_copyright = False
