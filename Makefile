# make book   build both editions and serve them on this machine
# make test   what must be true before a push, from formatting to real browsers
PYTHON ?= python3
PORT   ?= 8000
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
WHICH  ?= not slow
BROWSED = $(BIN)/python -m pytest -q -m "$(WHICH)" -o cache_dir=.pytest_cache/browsed \
  tests/test_*_browser.py
VERSIONS ?= trl==1.16.0 verl==0.9.1 OpenRLHF==0.11.2

.PHONY: help book site test test-all check cpus pdf epub slides text deck offline pages \
        bench integrations integrations-verl moved \
        python new-chapter browser kernel browsed clean
help:
	@grep -E '^# make|^[a-z-]+:.*## ' Makefile | sed 's/:.*## /  /; s/^# make/make/'

$(READY): requirements.txt pyproject.toml src/pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "There is no $(PYTHON): make book PYTHON=python3.12"; exit 1; }
	@$(PYTHON) src/tokenbook/site/make/install.py $(VENV) requirements.txt
	@touch $@

book: $(READY)  ## build both editions, serve them on 127.0.0.1 (PORT=8000)
	@$(BIN)/python -m tokenbook.site --serve --port $(PORT)

site: $(READY)  ## build both editions into _build/site
	$(BIN)/python -m tokenbook.site --clean

check: $(READY)  ## format, lint, parity, tests without a browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m tokenbook.languages.parity
	$(BIN)/python -m tokenbook.languages.notebooks check
	$(BIN)/python -m pytest -q -n 2 --dist loadfile \
	  --no-loadscope-reorder --max-worker-restart 1 -m "not browser and ($(WHICH))"

test: check browser  ## with the pages, and the notebooks on this CPU and as on the oldest
	$(BIN)/python -m tokenbook.site --clean
	$(BIN)/python -m tokenbook.site.make.check_pages
	@$(MAKE) -j2 -Otarget kernel browsed  # together they fill two cores

test-all:  ## with the tests that are marked slow: before a release
	@$(MAKE) test WHICH="slow or not slow"

kernel: $(READY)
	$(BIN)/python tests/cpus.py --kernels native sse --threads 1

browsed: $(READY)  # a page that was late on a busy machine is asked once more, alone
	$(BROWSED) -n 3 --dist worksteal --max-worker-restart 1 || $(BROWSED) --lf --lfnf none

cpus: $(READY)  ## do numbers depend on the CPU? every kernel of it, 1 and 2 threads
	$(BIN)/python tests/cpus.py

browser:  ## Chromium and Chinese fonts, which the browser tests need
	@src/tokenbook/site/make/browser.sh

pdf: $(READY) browser  ## print each built edition as a PDF into _build/site
	$(BIN)/python -m tokenbook.site.make.pdf

epub: $(READY) browser  ## bind each built edition as an EPUB into _build/site
	$(BIN)/python -m tokenbook.site.make.epub

slides: $(READY) browser  ## print the slides of every chapter from the built site
	$(BIN)/python -m tokenbook.site.slides.page

text: $(READY)  ## every page of the built site as Markdown, llms.txt, data as JSON
	$(BIN)/python -m tokenbook.takeaway.text

deck: $(READY)  ## cards for Anki from the built site, a deck a language
	$(BIN)/python -m tokenbook.takeaway.deck

offline: site pdf epub slides text deck  ## one archive that opens without a network
	$(BIN)/python -m zipfile -c _build/token-credit.zip _build/site/

pages: $(READY)  ## measure every built page: bytes, requests, axe, load
	$(BIN)/python -m tokenbook.site.make.measure

bench: $(READY)  ## speed against the plain loop and the peers
	$(BIN)/python tests/bench.py

integrations: $(READY)  ## TRL for real: reward rises, LoRA, a game, one process as two
	$(BIN)/python -m pytest -q -s tests/integrations_trl.py

integrations-verl:  ## the plugin for verl, on the CPU, in an environment of its own
	@$(PYTHON) src/tokenbook/site/make/install.py .venv-verl tests/verl-requirements.txt
	@.venv-verl/bin/pip install --quiet --no-deps verl==0.9.1 -e .
	RAY_AUTH_MODE=disabled .venv-verl/bin/python -m pytest -q -s -W default --noconftest \
	  tests/integrations_verl.py

moved: $(READY)  ## TRL, verl, OpenRLHF: which defaults and log keys moved (VERSIONS=)
	@rm -rf _build/wheels
	@$(BIN)/pip download --quiet --no-deps -d _build/wheels $(VERSIONS)
	@$(BIN)/python tests/moved.py _build/wheels

python: $(READY)  ## the browser's Python of the exercises, anew (maintainers; needs npm)
	$(BIN)/python -m tokenbook.homework.practice.vendor

new-chapter: $(READY)  ## make new-chapter NAME=07_kl
	$(BIN)/python -m tokenbook.languages.notebooks new $(NAME)

clean:
	rm -rf _build
