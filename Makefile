# Needs rustup and Python 3.11; what else a target needs, scripts/setup.sh installs and names.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# python3 is the one of the virtual environment where there is one: scapy and matplotlib live there.
export PATH := $(abspath $(TARGET_DIR))/venv/bin:$(PATH)

FUZZ_SECONDS ?= 10

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup-rust ## one path, naive multipath and CMT side by side; then a figure of a paper, with its verdicts, as a report to open
	cargo run --release --locked --package polypath-cli -- demo
	cargo run --release --locked --package polypath-cli -- reproduce dreibholz-asymmetric/5-left --quick --out $(TARGET_DIR)/demo --open

.PHONY: test test-debug test-release test-network
test: setup-rust setup-test setup-python setup-interop test-debug test-release test-python test-network ## all tests; skipped ones say why

test-debug: ## tests of the workspace, with debug assertions
	cargo test --workspace --locked --no-fail-fast
	cargo test --workspace --features polypath/tracing --test tracing --locked

test-release: ## determinism once more, with optimised code
	scripts/test_release.sh

test-network: ## network namespaces: shaped links, other stacks, programs with SCTP sockets
	tests/interop/run.sh
	tests/sockets/run.sh

.PHONY: test-programs
test-programs: setup-rust ## programs of others with SCTP sockets, as far as they are installed
	tests/sockets/programs.sh

.PHONY: test-python test-wheel
test-python: setup-rust setup-python ## the Python package: its tests and its notebooks
	tests/python/run.sh

test-wheel: setup-rust setup-python ## the same with the package built and installed as users have it; compiles for minutes
	tests/python/run.sh wheel

.PHONY: test-slurm
test-slurm: setup-rust ## a study as a job array of a local Slurm; needs root and Debian's slurm-wlm, else SKIPPED
	tests/slurm/run.sh

.PHONY: attacks
attacks: setup-rust ## hostile peers over a network against three servers, slow and silent senders; takes half an hour and root
	tests/attacks/attacks.sh
	tests/attacks/slow-senders.sh
	tests/attacks/silent-senders.sh
	tests/attacks/memory.sh
	tests/attacks/soak.sh 300

.PHONY: interop
interop: setup-rust setup-test setup-interop ## every feature against Linux's SCTP and usrsctp, in all directions, then the stacks of WebRTC; a table at the end
	tests/interop/matrix.sh all

SOAK_CASES ?= 20000

.PHONY: soak
soak: setup-rust ## random operations, faults and policies, SOAK_CASES (20000) of them
	POLYPATH_SCRIPT_CASES=$(SOAK_CASES) cargo test --profile optimized --locked --package polypath-proto --test scripts

SCHEDULES ?= 1000000
# With a SEED the schedules are the same each time, and others with another one; without it they are new ones.
SEED ?=

.PHONY: schedules
schedules: setup-rust ## SCHEDULES (1000000) random schedules of faults, operations and policies in virtual time; takes hours
	$(if $(SEED),PROPTEST_RNG_SEED=$(SEED)) POLYPATH_SCRIPT_CASES=$$(($(SCHEDULES) / 3)) cargo test --profile optimized --locked --package polypath-proto --test scripts -- \
	    every_message_arrives all_extensions_together a_shutdown_at_any_time

.PHONY: lint lint-format lint-clippy lint-doc lint-deny lint-house lint-no-std lint-scripts
lint: setup-rust setup-lint lint-format lint-clippy lint-doc lint-deny lint-house lint-no-std lint-scripts ## all static checks

lint-format:
	cargo fmt --all --check

lint-clippy:
	cargo clippy --workspace --all-targets --all-features --locked -- -D warnings

lint-doc:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --locked

lint-deny:
	cargo fetch --locked
	cargo deny --offline check --hide-inclusion-graph bans licenses sources

lint-house:
	scripts/check_layers.py
	scripts/check_sizes.py
	scripts/check_house.py
	scripts/check_book.py
	scripts/check_words.py
	python3 -m unittest discover -s scripts/tests -p 'test_*.py'

lint-no-std:
	scripts/no_std.sh

lint-scripts:
	scripts/check_scripts.sh

.PHONY: docs test-docs
docs: setup-docs ## the documentation as a site with offline search, in target/book; broken links are errors
	cd docs && mdbook build --dest-dir "$(abspath $(TARGET_DIR))/book"
	scripts/check_book.py "$(TARGET_DIR)/book"
	@echo "docs: $(abspath $(TARGET_DIR))/book/index.html"

test-docs: docs ## the site in Chromium: navigation, search, phone width, dark; pictures in target/book-pictures
	scripts/check_site.py "$(TARGET_DIR)/book" "$(TARGET_DIR)/book-pictures"

.PHONY: install-capi
install-capi: ## library, header and polypath.pc of the sockets API for C programs, and `polypath`, below PREFIX (/usr/local); DESTDIR for packages
	scripts/install_capi.sh

.PHONY: release-check deb static image targets sbom semver advisories
release-check: setup-rust semver advisories deb static image targets sbom ## all of a release: interfaces, advisories, Debian packages, static program, image, other systems, SBOM; then crates and wheel from their packages alone, and the MSRV; an hour
	scripts/check_packages.py
	tests/python/run.sh wheel

deb: setup-rust ## Debian packages, in target/dist
	scripts/make_deb.sh

static: setup-rust ## an archive with the program linked statically, in target/dist; it runs on every Linux of this processor
	scripts/make_static.sh

image: setup-rust ## a container image of the static program, with podman or docker
	scripts/make_image.sh

targets: setup-rust ## whether the program compiles for arm64, macOS and Windows
	scripts/check_targets.sh

sbom: setup-rust setup-release ## the software bill of materials (CycloneDX), in target/dist
	scripts/make_sbom.sh

semver: setup-rust ## whether the libraries keep the interfaces of the last release, or have a version that says so
	scripts/check_semver.sh

advisories: setup-rust setup-lint ## whether RustSec has an advisory about a crate of Cargo.lock, or one was yanked
	scripts/check_advisories.sh

.PHONY: bench bench-net
bench: setup-rust ## benchmarks: a table, and target/bench.json
	scripts/bench.py

bench-net: setup-rust ## associations over UDP on the loopback interface: a table, and target/bench-net.json
	scripts/bench_net.py

.PHONY: bench-emulated
bench-emulated: setup-rust ## transfers in real time, beside kernel TCP and MPTCP, and usrsctp; needs root, takes two hours
	cargo build --profile optimized --workspace --locked --bin polypath --example interop_peer
	@status=0; \
	scripts/bench_emulated.py grid || status=1; \
	scripts/bench_emulated.py shaped || status=1; \
	scripts/bench_emulated.py fairness --parallel 3 || status=1; \
	scripts/bench_emulated.py failover --parallel 3 || status=1; \
	scripts/bench_emulated.py lossy || status=1; \
	scripts/bench_emulated.py conditions || status=1; \
	exit $$status

.PHONY: ns2
ns2: setup-rust ## the simulator with the rules of ns-2.35 beside ns-2.35, packet by packet; needs Debian's ns2
	cargo build --profile optimized --locked --bin polypath
	scripts/ns2_ladder.py "$(TARGET_DIR)/optimized/polypath"

.PHONY: webrtc
webrtc: setup-rust ## stacks of WebRTC: data channels over DTLS with dcSCTP and pion, SCTP in UDP with sctp-proto and rtc-sctp
	tests/webrtc/run.sh

.PHONY: translators
translators: setup-rust setup-test ## two uplinks of 50 Mbit/s behind address translators, for minutes; 1,000 clients behind one address; needs root and an idle machine
	tests/interop/translators.sh long
	tests/interop/cgnat.sh

.PHONY: fuzz
fuzz: setup-rust setup-fuzz ## every fuzz target for FUZZ_SECONDS (10)
	@targets=$$(cargo fuzz list); \
	for target in $$targets; do \
	    echo "fuzz: $$target, $(FUZZ_SECONDS) s"; \
	    mkdir -p "fuzz/corpus/$$target"; \
	    seeds=$$(ls -d "fuzz/seeds/$$target" 2>/dev/null); \
	    cargo fuzz run --sanitizer none "$$target" "fuzz/corpus/$$target" $$seeds -- -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1; \
	done

.PHONY: setup-rust setup-lint setup-test setup-python setup-interop setup-fuzz setup-docs setup-release
setup-rust setup-lint setup-test setup-python setup-interop setup-fuzz setup-docs setup-release: setup-%:
	@scripts/setup.sh $*
