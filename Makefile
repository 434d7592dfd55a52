# make book   build both editions and serve them on this machine
# make test   everything that must be true, from formatting to real browsers
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NBVAL  := --nbval --nbval-current-env --nbval-cell-timeout 120
NBVAL  += --nbval-sanitize-with tests/sanitize.cfg
TWO    := -n 2 --dist

.PHONY: help book site test check pages bench new-chapter exit-door browser clean
help:
	@grep -E '^# make|^[a-z-]+:.*## ' Makefile | sed 's/:.*## /  /; s/^# make/make/'

$(READY): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed: make PYTHON=python3.12 ..."; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

book: $(READY)  ## build both editions, serve them on 127.0.0.1
	$(BIN)/python book/site.py --serve

site: $(READY)  ## build both editions into _build/site
	$(BIN)/python book/site.py --clean

check: $(READY)  ## format, lint, parity and unit tests: a minute, no browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python book/parity.py
	$(BIN)/python -m pytest -q -m "not browser"

test: $(READY) browser  ## everything, as the build machine runs it
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python book/parity.py
	$(BIN)/python book/notebooks.py check
	$(BIN)/python -m pytest -q $(TWO) loadscope $(NBVAL) chapters
	$(BIN)/python book/site.py --clean
	$(BIN)/python book/check_pages.py
	$(BIN)/python -m pytest -q $(TWO) worksteal

browser:  ## Chromium and Chinese fonts, which the browser tests need
	@book/browser.sh

pages: $(READY)  ## measure every built page: bytes, requests, axe, load
	$(BIN)/python book/measure.py

bench: $(READY)  ## speed against the plain loop and the peers
	$(BIN)/python tests/bench.py

new-chapter: $(READY)  ## make new-chapter NAME=07_kl
	$(BIN)/python book/notebooks.py new $(NAME)

exit-door: $(READY)  ## the same sources with plain Sphinx 9, in its own environment
	test -x .venv-sphinx9/bin/python || $(PYTHON) -m venv .venv-sphinx9
	.venv-sphinx9/bin/python -m pip install --quiet --disable-pip-version-check \
	  -r book/requirements-sphinx9.txt
	.venv-sphinx9/bin/python -m sphinx -W --keep-going -E -q -b html -c book . \
	  _build/sphinx9/zh
	EDITION=en .venv-sphinx9/bin/python -m sphinx -W --keep-going -E -q -b html \
	  -c book . _build/sphinx9/en
	@echo "exit door: built _build/sphinx9/{zh,en} with plain Sphinx"

clean:
	rm -rf _build
