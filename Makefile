# Everything a person or CI does with the project. `make help` lists it.

SHELL := /bin/bash
.DELETE_ON_ERROR:

SWIFT ?= swift
MESSAGES ?= 20000
# Where `make dev` shows its dashboard.
ADDRESS ?= 127.0.0.1:9465
TEST_FLAGS ?=
# Which targets `make packages` installs for.
FOR ?= build
# Which tests `make test` runs: a pattern that a name must match, such as SettlementTests. Without it, all of them.
FILTER ?=
# How many seconds each of the fuzz tests goes on for in `make fuzz`.
FUZZ ?= 60
# How many seconds `make soak` goes on for.
SOAK ?= 600
# How many seeds `make simulation` runs, and the one that it runs instead.
SEEDS ?= 20000
SEED ?=
# How many tests run at once, two for each processor: each has a server, a database or a gateway of its own, and time limits are real.
TEST_WIDTH ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) * 2)))
AT_ONCE = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=
# ThreadSanitizer and AddressSanitizer builds share nothing with ordinary ones, so each has a folder of its own.
THREAD_BUILD := .build/thread
ADDRESS_BUILD := .build/address
OPTIMIZED_BUILD := -c release -Xswiftc -enable-testing --scratch-path .build/optimized
RELEASE := $(SWIFT) build -c release --static-swift-stdlib
SOURCES := Sources Tests Package.swift
# The file that benchmarks keep their figures in: docs/benchmarks.json is what docs/benchmarks.md shows.
RECORD ?=
# What `make peers` sends of its usual number of pushes, such as 0.1, and the programs that it compares, such as 'Carillon Go'.
SCALE ?=
ONLY ?=
COMMIT = COMMIT="$$(git log -1 --format='%h of %cs' 2>/dev/null || echo unknown)"

.PHONY: help packages needed build release deb deb-try dev demo test browse pictures freeze fuzz faults versions soak interop simulation test-thread test-address bench bench-long peers plots format lint docs clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

packages: ## install the missing system packages, with sudo; FOR=test: those of the tests too (or bench, deb, interop, peers)
	@bash .ci/packages $(FOR) install
	$(if $(filter test,$(FOR)),@bash .ci/optional install)

needed:
	@bash .ci/packages build

build: needed ## build everything, with tests, for development
	$(SWIFT) build --build-tests

release: needed ## build the program: .build/release/carillon, Swift's runtime linked in
	$(RELEASE) --product carillon
	@echo "built .build/release/carillon"

dev: needed ## run the demo with its dashboard, and rebuild and restart it when a file changes; ADDRESS=127.0.0.1:9465
	@SWIFT='$(SWIFT)' ADDRESS='$(ADDRESS)' bash .ci/dev

deb: release ## make the Debian package of the program, .build/deb/carillon_….deb, twice with the same bytes
	@bash .ci/packages deb
	@bash .ci/deb

deb-try: deb ## install, upgrade, remove and purge the package in a new Debian 12, as root
	@bash .ci/packages deb-try
	@bash .ci/deb-try "$$(ls -t .build/deb/*.deb | head -1)"

demo: release ## a private PostgreSQL, a simulator of APNs, two workers: watch pushes travel
	.build/release/carillon demo --messages $(MESSAGES)

test: needed ## run every test that a commit must pass; FILTER=SettlementTests runs only tests whose name matches
	@bash .ci/packages test
	$(if $(FILTER),,@bash .ci/optional)
	$(SWIFT) build --build-tests
	@$(AT_ONCE)$(TEST_WIDTH) SWIFT='$(SWIFT)' bash .ci/tests $(if $(FILTER),--filter '$(FILTER)') $(TEST_FLAGS)
	$(if $(FILTER),,@SWIFT='$(SWIFT)' bash .ci/outside)

browse: needed ## only the tests of the dashboard in a real browser
	@bash .ci/packages test
	@bash .ci/optional
	$(SWIFT) build --build-tests
	BROWSE=1 $(SWIFT) test --skip-build --disable-xctest --filter 'BrowserTests' $(TEST_FLAGS)

pictures: needed ## take the pictures of the dashboard that the documentation shows, in Chromium
	@bash .ci/packages test
	$(SWIFT) build --build-tests
	PICTURES=$(CURDIR)/docs/images $(SWIFT) test --skip-build --disable-xctest --filter 'PictureTests' $(TEST_FLAGS)

freeze: needed ## write the schema of this version into Tests/Upgrades, for the tests of upgrading: before each tag
	@bash .ci/packages test
	$(SWIFT) build --build-tests
	FREEZE=1 $(SWIFT) test --skip-build --disable-xctest --filter 'FrozenSchemaTests' $(TEST_FLAGS)

fuzz: needed ## run each fuzz test for FUZZ=60 seconds; FUZZ_SEED=N repeats a failure
	$(SWIFT) build --build-tests
	FUZZ=$(FUZZ) $(SWIFT) test --skip-build --disable-xctest --filter 'FuzzTests' $(TEST_FLAGS)

faults: needed ## the whole fault board, long cases too: a table of every fault, and the score
	$(SWIFT) build --build-tests
	@$(AT_ONCE)2 SWIFT='$(SWIFT)' bash .ci/faults $(TEST_FLAGS)

versions: needed ## run migrations, demo and the short fault board on each available PostgreSQL version (needs python3 and pip)
	@bash .ci/packages test
	$(SWIFT) build --build-tests
	@$(AT_ONCE)2 SWIFT='$(SWIFT)' bash .ci/versions

soak: needed ## SOAK=600 seconds of random faults: nothing is lost, and a worker's memory, descriptors and threads stay flat
	$(SWIFT) build --build-tests
	SOAK=$(SOAK) $(SWIFT) test --skip-build --disable-xctest --filter 'SoakCases' $(TEST_FLAGS)

interop: needed ## test third-party programs from PyPI and Debian: drivers that enqueue, clients and gateways of both protocols
	$(SWIFT) build --product carillon
	@bash .ci/packages interop
	@bash .ci/interop

simulation: needed ## SEEDS=20000 seeds of the simulation, in an optimized build; SEED=N repeats what failed
	$(SWIFT) build --build-tests $(OPTIMIZED_BUILD)
	SIMULATION_RUNS=$(SEEDS) SIMULATION_SEED=$(SEED) $(SWIFT) test --skip-build $(OPTIMIZED_BUILD) --disable-xctest \
		--filter 'PushQueueTests.SimulationTests' $(TEST_FLAGS)

test-thread: needed ## the same tests under ThreadSanitizer
	@bash .ci/packages test
	TSAN_OPTIONS=suppressions=$(CURDIR)/.ci/thread $(AT_ONCE)4 $(SWIFT) test --sanitize=thread --scratch-path $(THREAD_BUILD) --disable-xctest $(TEST_FLAGS)

test-address: needed ## the same tests under AddressSanitizer and LeakSanitizer
	@bash .ci/packages test
	$(AT_ONCE)4 $(SWIFT) test --sanitize=address --scratch-path $(ADDRESS_BUILD) --disable-xctest $(TEST_FLAGS)

bench: needed ## measure on this machine, a few minutes: throughput, and what an INSERT costs; RECORD=docs/benchmarks.json keeps the figures
	@bash .ci/packages bench
	$(RELEASE) --product carillon
	$(RELEASE) --product carillon-bench
	$(COMMIT) .build/release/carillon-bench $(RECORD:%=--record %) short

bench-long: needed ## the rest of the published numbers: latency, fairness, long transactions, deep queues (10 GB)
	@bash .ci/packages bench
	$(RELEASE) --product carillon
	$(RELEASE) --product carillon-bench
	$(COMMIT) .build/release/carillon-bench $(RECORD:%=--record %) long

peers: needed ## measure Carillon beside other queues and clients, half an hour; RECORD=docs/peers.json keeps the figures (needs python3 and pip)
	@bash .ci/packages peers
	$(RELEASE) --product carillon
	@$(COMMIT) SCALE='$(SCALE)' ONLY='$(ONLY)' bash .ci/peers $(RECORD)

plots: needed ## the tables and plots of docs/benchmarks.md, from docs/benchmarks.json and docs/peers.json
	$(SWIFT) build --build-tests
	PAGES=write $(SWIFT) test --skip-build --disable-xctest --filter 'BenchmarkPageTests' $(TEST_FLAGS)

format: ## lay out the sources
	$(SWIFT) format --in-place --parallel --recursive $(SOURCES)

lint: ## check layout and structure
	$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)
	@bash .ci/structure

docs: ## the library's documentation, into .docs/, and the pages of docs/ that are made from the program
	@bash .ci/packages test
	@bash .ci/docs

clean: ## remove what was built
	rm -rf .build .docs
