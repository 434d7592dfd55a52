"""The exit door: build the same sources with plain ``sphinx-build``, no Jupyter Book.

    export PYTHONPATH=book/_ext                         where the extensions are
    sphinx-build -c book . _build/sphinx9/zh            the Chinese edition
    EDITION=en sphinx-build -c book . _build/sphinx9/en

Everything is read from ``_config.yml``; only what Jupyter Book itself would translate
into Sphinx's names stands here. ``make exit-door`` does it with Sphinx 9.
"""

import os
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]

_book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
_edition = _book["editions"][os.environ.get("EDITION", "zh")]
_settings = _book["sphinx"]["config"]
for _key, _value in _edition.items():
    if isinstance(_value, dict):
        _settings[_key] = _settings.get(_key, {}) | _value
    else:
        _settings[_key] = _value
globals().update(_settings)

project = _book["title"]
author = _book["author"]
copyright = _book["copyright"]
exclude_patterns = _book["exclude_patterns"]
bibtex_bibfiles = [str(ROOT / file) for file in _book["bibtex_bibfiles"]]
nb_execution_mode = _book["execute"]["execute_notebooks"]
external_toc_path = str(ROOT / "_toc.yml")
external_toc_exclude_missing = _book["only_build_toc_files"]
use_multitoc_numbering = _book["html"]["use_multitoc_numbering"]
html_theme_options["home_page_in_toc"] = True  # noqa: F821
html_sourcelink_suffix = ""
# Jupyter Book has no configuration folder; here paths are meant from the root.
html_static_path = [str(ROOT / path) for path in html_static_path]  # noqa: F821
templates_path = [str(ROOT / path) for path in templates_path]  # noqa: F821
suppress_warnings = ["myst.domains"]
