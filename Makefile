# Everything that is done to this project, one target each; `make` lists them. A fresh clone needs Python 3.10 or newer,
# Rust (rustup.rs) and a network for the first run; the rest is fetched into .venv and target.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# The wheel is built again when any of these has changed.
SOURCES := Cargo.toml pyproject.toml $(wildcard Cargo.lock) $(shell find crates -name '*.rs' -o -name Cargo.toml)
BUILT   := $(VENV)/.built

ROUTER  := target/debug/penstock-emulate

# The optimised wheel holds the package's own files as well.
WHEELS       := target/wheels
PACKAGE      := $(shell find python -type f ! -name '*.so' ! -path '*/__pycache__/*')
HAS_PROFDATA := ls "$$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata* >/dev/null 2>&1

# The BPF programs are a build of their own, because clang and libelf are not everywhere.
BPF        := --manifest-path bpf/Cargo.toml --target-dir target
CAN_BPF    := command -v clang >/dev/null && pkg-config --exists libelf zlib
BPF_BUILD  := cargo build --release --quiet $(BPF)
BPF_CHECKS := cargo clippy --release --quiet --all-targets $(BPF) -- -D warnings && cargo test --release --quiet $(BPF)

# Hundreds of tests start Python: what it has compiled it keeps, also where the shell asks it not to.
unexport PYTHONDONTWRITEBYTECODE

# What two steps print at the same time stays in whole lines; macOS's make 3.81 cannot.
SYNC := $(if $(filter output-sync,$(.FEATURES)),--output-sync=line)

# In the order in which they have to be published.
PUBLISHED := $(addprefix -p penstock-,units aqm queue tcp sim)

.PHONY: help setup demo reproduce papers-today nearest evaluate tune answers picture lab-picture stability hosts queues levels test test-rust test-python quick test-slow slow-rust slow-python lint lint-rust lint-python fmt generate validate validate-real kernel oracle packetdrill wheel bench docs site lab dist crates mecn test-long accept debs clean
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(BUILT) ## a virtual environment in .venv with Penstock and what its tests need; the router in target

$(VENV)/bin/maturin:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Penstock needs Python 3.10 or newer")'
	@command -v cargo >/dev/null || { echo "Penstock needs Rust: https://rustup.rs"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip 'maturin>=1.16,<2'

$(BUILT): $(VENV)/bin/maturin $(SOURCES)
	VIRTUAL_ENV=$(abspath $(VENV)) PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin develop --quiet --extras test,site
# Beside the extension, the router finds what that is made of built with the features that it needs itself. Told of
# Python by the same file, Cargo does not build the extension again.
	env $$(ls -t $(CURDIR)/target/maturin/pyo3-config-*.txt 2>/dev/null | sed -n '1s/^/PYO3_CONFIG_FILE=/p') \
	cargo build --quiet -p penstock-emulate -p penstock-py
	@touch $@

demo: setup ## the main job: five papers reproduced, a quick run; verdicts here, the report in out/report.html
	$(BIN)/penstock reproduce all --quick --out out

reproduce: setup ## the same in full, ten seeds: minutes
	$(BIN)/penstock reproduce all --out out

papers-today: setup ## every claim of the papers with Linux's and QUIC's hosts, too: docs/papers-today.md; twenty minutes
	$(BIN)/python tools/papers_today.py

nearest: setup ## the joint readings that come nearest to the papers, searched anew: an hour; they ship with Penstock
	$(BIN)/python tools/nearest.py

evaluate: setup ## every discipline by RFC 7928, ten seeds: out/judged, docs/evaluate
	$(BIN)/penstock evaluate all --seeds 10 --out out/judged
	$(BIN)/python tools/evaluated.py out/judged

tune: setup ## docs/tune.md's example, and its picture; minutes
	$(BIN)/python tools/tuned.py

answers: setup ## the pictures of docs/answers.md, by the commands that it shows; a minute
	$(BIN)/python tools/answers.py

picture: reproduce ## the report's first screen as docs/img/report.png, for the README; needs Chromium
	$(BIN)/python tools/picture.py

lab-picture: lab ## the lab's picture as docs/img/lab.png, for the README; needs Chromium
	$(BIN)/python tools/lab_picture.py

stability: setup ## the fluid model against the simulator, RARED's rule against 20 packets/s: docs/stability.md, its figures; minutes
	$(BIN)/python tools/stability.py

hosts: setup ## what is published of today's senders, against runs: docs/hosts.md, its figures; minutes
	$(BIN)/python tools/hosts.py

queues: setup ## what is published of today's queues, against runs: docs/queues.md; a minute
	$(BIN)/python tools/queues.py

levels: setup ## what a second level of congestion is worth, in full: docs/two-levels.md, its figures; minutes
	$(BIN)/python tools/levels.py

# Rust and Python go side by side, each on what the other leaves of two cores.
SIDE_BY_SIDE := $(MAKE) --no-print-directory --jobs=2 $(SYNC)
PYTEST       := $(BIN)/pytest --dist loadfile --no-loadscope-reorder --numprocesses

test: debs ## minutes: lint, Rust tests, Python tests, examples; with test-slow everything that CI checks
	$(SIDE_BY_SIDE) test-rust test-python

# Cargo builds one thing at a time: first the extension, for which Python's tests wait.
test-rust: lint-rust setup
	cargo test --workspace --quiet

test-python: setup lint-python
# A third of the time a test waits.
	$(PYTEST) 3 -m 'not slow and not alone and not long'

test-slow: debs ## what waits for others: virtual machines, browsers, clusters, tshark, WebAssembly, BPF, real packets, the papers in small
	$(SIDE_BY_SIDE) slow-rust slow-python
# Which mostly waits.
	$(PYTEST) 3 -m 'alone and not long'

slow-rust: docs
	if $(CAN_BPF); then $(BPF_BUILD) && $(BPF_CHECKS); else echo "skipped: make mecn, which needs clang and libelf"; fi
# Without libFuzzer itself, which is for linking.
	CUSTOM_LIBFUZZER_PATH=none/libnone.a cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir target/fuzz

slow-python: setup
	$(PYTEST) 4 -m 'slow and not alone and not long'

quick: setup ## seconds: the Python tests that start no process and no browser
	$(BIN)/pytest -m 'not slow and not alone and not long' tests/test_layout.py tests/test_package.py tests/test_pool.py tests/test_python.py

lint: lint-rust lint-python ## formatting, clippy, ruff, mypy --strict

lint-rust:
	cargo fmt --all --check
	cargo fmt --manifest-path bpf/Cargo.toml --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

lint-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

fmt: setup ## format Rust and Python, sort imports
	cargo fmt --all
	cargo fmt --manifest-path bpf/Cargo.toml
	$(BIN)/ruff check --quiet --select I --fix .
	$(BIN)/ruff format .

generate: setup ## write again what is made from the Rust tables: kinds.py, docs, fuzzers' seeds, the examples' output
	$(BIN)/python tools/generate.py
	$(BIN)/python fuzz/seeds.py
	cargo test --quiet -p penstock-aqm --test all -- --ignored write_seeds
	PENSTOCK_UPDATE=1 $(BIN)/pytest tests/test_examples.py tests/test_notebook.py

validate: setup ## agreement with ns-2, pair by pair, into docs/validation.md
	$(BIN)/penstock validate

validate-real: setup ## the simulator against real packets on this machine, 58 cases, 80 minutes: docs/validation-real.md
	$(BIN)/python tools/real.py

kernel: setup ## the kernel's queue disciplines beside ours, in a virtual machine, an hour: docs/validation-kernel.md
	$(BIN)/python validation/oracle/disciplines.py --page --out out/kernel
	if $(CAN_BPF); then $(BPF_BUILD) && $(BIN)/python validation/oracle/program.py --page --out out/program; else echo "skipped: our program, which needs clang and libelf"; fi

oracle: setup ## the kernel's queues under its own TCP in a virtual machine, beside our router and our simulator: two tables, half an hour
	$(BIN)/python validation/oracle/oracle.py --kernel --penstock $(ROUTER) --ecn --json out/oracle.json
	$(BIN)/python validation/oracle/controls.py --out out/oracle

packetdrill: ## Linux's own scripts against our TCP: docs/packetdrill.md; PACKETDRILL=checkout, KERNEL=folder with the kernel's
	@test -n "$(PACKETDRILL)" || { echo "make packetdrill PACKETDRILL=path of a checkout of github.com/google/packetdrill"; exit 1; }
	cargo run --quiet -p penstock-packetdrill -- --list crates/packetdrill/scripts.txt --page docs/packetdrill.md --google $(PACKETDRILL) $(if $(KERNEL),--kernel $(KERNEL))

wheel: $(WHEELS)/.built ## target/wheels: this machine's wheel with profile-guided optimisation, which make bench measures; minutes

$(WHEELS)/.built: $(VENV)/bin/maturin $(SOURCES) $(PACKAGE) $(wildcard benches/train.py benches/b?.toml)
	@$(HAS_PROFDATA) || { echo "make wheel needs llvm-profdata: rustup component add llvm-tools"; exit 1; }
	rm -f $(WHEELS)/penstock-*.whl
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --release --pgo --quiet --out $(WHEELS) --target-dir target/pgo
	@touch $@

bench: setup ## every target of docs/performance.md, beside ns-2 where it is installed; ARGS=--quick, HTSIM=path of csg-htsim
	$(BIN)/python benches/bench.py $(ARGS)

docs: setup ## the Rust API's documentation, with warnings as errors
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet

site: docs ## out/site: the documentation as pages with search, the Python API and the Rust API; serve it with any web server
	$(PYTHON) tools/lab.py || echo "skipped: the lab's engine (docs/lab.md says what it needs)"
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	rm -rf out/site/rust && cp -r target/doc out/site/rust

dist: setup ## dist: the source archive and the wheels, each tried in an empty environment; minutes
	$(BIN)/pip install --quiet 'maturin[zig]>=1.16,<2'
	$(BIN)/python tools/dist.py

crates: ## what `cargo publish` would send, packed and built as from the registry; sends nothing
	cargo publish --dry-run --allow-dirty --quiet $(PUBLISHED)

lab: ## docs/lab/index.html: the engine as WebAssembly in a page; needs Rust for wasm32-unknown-unknown
	$(PYTHON) tools/lab.py

mecn: ## target/release/penstock-mecn and penstock-kernel, BPF programs for the kernel (bpf/README.md); needs clang and libelf
	$(BPF_BUILD)

test-long: setup ## hours: the same tests on many more random scenarios, Python's marked long, an hour of fuzzing
	PENSTOCK_CASES=20000 cargo test --workspace --release --quiet -- --include-ignored
	$(BIN)/pytest
	fuzz/run.sh 1200

accept: setup debs ## everything that README and docs/ promise, in a fresh clone, hours: docs/accept.md; ACCEPT='-k bench' for one
	$(BIN)/pytest -m accept tests/test_promises.py $(ACCEPT); code=$$?; cat docs/accept.md; exit $$code

debs:
	@.ci/debs

clean: ## remove what was built and written
	rm -rf target out .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f python/penstock/_penstock*.so
