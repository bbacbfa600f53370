# What people and CI run. Build artefacts are kept in LYCOSA_CACHE when it is set (or CARGO_TARGET_DIR),
# so that a second clone builds in about a minute; otherwise in the clone.

.DEFAULT_GOAL := help
.PHONY: help demo crawl build test lint bench fuzz soak clean

ifneq ($(LYCOSA_CACHE),)
export CARGO_TARGET_DIR ?= $(LYCOSA_CACHE)/target
endif
export PATH := $(HOME)/.cargo/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock pyproject.toml
# Foreign programs that judge in tests and benchmarks.
DEBIAN := bind9 caddy curl default-jre-headless dnsdist dnsmasq-base dnsperf dnsutils faketime knot knot-dnsutils knot-resolver maven microsocks mitmproxy nghttp2-client nghttp2-server nginx-light nodejs nsd openssl pdns-recursor postgresql redis-server socat tinyproxy unbound wget wrk

# Of each fuzz target.
SECONDS := 60

help: ## Show the targets
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(VENV)/built ## Build, then crawl a simulated Internet of 2,000 hosts and let its ledger judge
	$(BIN)/lycosa simnet --no-namespace --hosts 2000 --pages 50 --speed 100 -- \
		$(BIN)/lycosa crawl --job {job} --dir build/demo --fresh

crawl: $(VENV)/built ## Crawl a site: make crawl SEED=https://example.com AGENT="mybot/1.0 (me@example.org)" [ARGS="--max-pages 100"]
	@test -n "$(SEED)" || { echo "lycosa: SEED is missing: make crawl SEED=https://example.com" >&2; exit 2; }
	$(BIN)/lycosa crawl $(SEED) $(if $(AGENT),--user-agent "$(AGENT)") $(ARGS)

build: $(VENV)/built ## Build Lycosa into .venv

test: $(VENV)/developed ## Run all tests
	@tools/bootstrap.sh debian $(DEBIAN)
	@command -v go >/dev/null || tools/bootstrap.sh debian golang-go
	cargo test --workspace --locked -q
	$(BIN)/python -m tools.run_tests

lint: $(VENV)/developed ## Run all checks that need no running
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -q -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest lycosa._core --mypy-config-file pyproject.toml
	$(BIN)/lint-imports
	@tools/bootstrap.sh helm build/bin/helm
	$(BIN)/python -m tools.chart --helm build/bin/helm

bench: $(VENV)/developed ## Run all quick benchmarks beside their peers
	@tools/bootstrap.sh debian $(DEBIAN)
	$(BIN)/python -m benchmarks all --quick

fuzz: ## Fuzz every target by coverage, each so long: make fuzz SECONDS=60 [TARGETS="html url"]
	@tools/bootstrap.sh fuzz
	python3 fuzz/run.py --seconds $(SECONDS) $(TARGETS)

soak: $(VENV)/developed ## Run what is too long for the tests
	@tools/bootstrap.sh debian $(DEBIAN)
	$(BIN)/python -m benchmarks memory
	LYCOSA_FORGED=10000000 cargo test --locked --release -q -p lycosa-names --test hostile of_forged
	LYCOSA_BROKEN=10000000 cargo test --locked --release -q -p lycosa-text --test broken any_page
	$(BIN)/pytest -m soak --timeout 3600

clean: ## Remove what was built in this clone
	rm -rf $(VENV) build target

# A change of any source builds again; an unchanged one costs nothing.
$(VENV)/built: $(SOURCES)
	@tools/bootstrap.sh rust
	@tools/bootstrap.sh venv $(VENV)
	@$(BIN)/python -m pip install -q 'maturin>=1.10,<2'
	$(BIN)/maturin develop --release --locked --extras parquet
	@touch $@

$(VENV)/developed: $(VENV)/built
	@# The extras by their requirements: installing the project itself again would build it again. Not the peers of
	@# the benchmark of texts: no test needs them, they build for minutes, and one of them needs a newer Python.
	@$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
		print(*(line for name, lines in extras.items() if name != "bench-text" for line in lines), sep="\n")' >$(VENV)/requirements.txt
	$(BIN)/python -m pip install -q -r $(VENV)/requirements.txt
	@touch $@
