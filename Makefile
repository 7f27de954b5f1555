# A thin front: Meson does the work. Each target first installs the Debian packages it misses.
.DEFAULT_GOAL := all
SHELL := /bin/bash
PREFIX ?= /usr/local
PYTHON := $(firstword $(wildcard /usr/bin/python3) python3)
FUZZ_SECONDS ?= 60
SEEDS ?= 100000
RUNS ?= 200
STORE ?= sqlite
FAULT_STEP ?= 16

# $(call setup,FOLDER,OPTIONS): configure a build folder once.
setup = test -f $(1)/build.ninja || meson setup $(1) $(2)
# $(call test,FOLDER,OPTIONS,LOG): run tests, then say how many, and fail if one failed.
test = meson test -C $(1) --print-errorlogs $(2); result=$$?; \
	$(PYTHON) scripts/test-totals $(1)/meson-logs/$(or $(3),testlog.json); exit $$result
sanitized = --buildtype=debugoptimized -Db_lundef=false

.PHONY: all demo check bench install deb dist torture asan tsan valgrind fuzz sim coverage tidy format clean help

all: ## build the command and the library (build-release)
	@scripts/install-deps build
	@$(call setup,build-release,--buildtype=release --prefix=$(PREFIX) -Dtests=disabled)
	@ninja -C build-release

demo: all ## build, then show what it does: check and apply, then a batch of real processes
	@scripts/demo build-release/src/cli/reconciler
	@scripts/demo-run build-release/src/cli/reconciler

check: ## build with tests and run them all
	@scripts/install-deps check
	@$(call setup,build-check,)
	@ninja -C build-check
	@$(call test,build-check,)

bench: all ## measure against the references, write docs/benchmarks.md (ONLY=postgres, files, ...: a part, printed)
	@scripts/install-deps bench
	@$(PYTHON) bench/run.py --build build-release $(if $(ONLY),--only $(ONLY),--write docs/benchmarks.md)

install: all ## install under PREFIX (/usr/local); DESTDIR is honoured
	@meson install -C build-release --no-rebuild

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install-deps ci
	@CC=clang; export CC; $(call setup,build-asan,$(sanitized) -Db_sanitize=address$(,)undefined)
	@ninja -C build-asan
	@$(call test,build-asan,--suite unit --suite contract --suite fuzz --timeout-multiplier 3)

tsan: ## the tests under ThreadSanitizer
	@scripts/install-deps ci
	@CC=clang; export CC; $(call setup,build-tsan,$(sanitized) -Db_sanitize=thread)
	@ninja -C build-tsan
	@$(call test,build-tsan,--suite unit --suite contract --timeout-multiplier 5)

valgrind: export REC_TEST_FAULT_STEP := $(FAULT_STEP)
valgrind: ## the unit and contract tests under valgrind, but for those that make system calls fail or run children; of the places where a store may fail the first and every FAULT_STEPth (16)
	@scripts/install-deps ci
	@$(call setup,build-check,)
	@ninja -C build-check
	@$(call test,build-check,--suite unit --suite contract --no-suite no-valgrind --timeout-multiplier 20 \
		--wrapper 'valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite$(,)indirect$(,)possible',testlog-valgrind.json)

deb: ## build the Debian packages (build-deb), judge them with lintian, install and remove them
	@scripts/install-deps deb
	@scripts/build-deb build-deb
	@scripts/test-deb build-deb || test $$? -eq 77

dist: ## a source tarball of the last commit (build-dist/meson-dist); the same commit gives the same bytes
	@scripts/install-deps build
	@$(call setup,build-dist,-Dtests=disabled)
	@meson dist -C build-dist --no-tests

torture: ## RUNS (200) runs with kill -9 of conductors and shims at random moments (SEED: of the first) on a STORE (sqlite, files, postgresql)
	@scripts/install-deps check
	@$(call setup,build-check,)
	@ninja -C build-check src/cli/reconciler src/shim/reconciler-shim tests/crash/crash-worker
	@RECONCILER=$(CURDIR)/build-check/src/cli/reconciler CRASH_WORKER=$(CURDIR)/build-check/tests/crash/crash-worker \
		$(if $(filter postgresql,$(STORE)),tests/postgres/with-cluster) \
		$(PYTHON) tests/crash/torture.py --store $(STORE) --runs $(RUNS) $(addprefix --seed ,$(SEED))

fuzz: ## run every fuzzer for FUZZ_SECONDS (60) seconds
	@scripts/install-deps ci
	@CC=clang; export CC; $(call setup,build-fuzz,$(sanitized) -Dfuzz=true -Db_sanitize=address$(,)undefined)
	@ninja -C build-fuzz
	@scripts/fuzz build-fuzz $(FUZZ_SECONDS)

sim: ## SEEDS (100000) simulated worlds, all small ones, and the faults they must catch
	@scripts/install-deps check
	@$(call setup,build-check,)
	@ninja -C build-check tests/sim/sim-random tests/sim/sim-small tests/sim/sim-planted
	@build-check/tests/sim/sim-planted
	@build-check/tests/sim/sim-small
	@build-check/tests/sim/sim-random -H $$(date +%s) $$(($(SEEDS) / 4))
	@build-check/tests/sim/sim-random $$(date +%s) $(SEEDS)

coverage: ## which lines the tests reach (build-coverage/meson-logs)
	@scripts/install-deps ci
	@$(call setup,build-coverage,-Db_coverage=true --buildtype=debug)
	@ninja -C build-coverage
	@meson test -C build-coverage --print-errorlogs
	@gcovr --root . build-coverage --filter src/ --exclude '.*/test-[^/]*\.c' --print-summary \
		--txt build-coverage/meson-logs/coverage.txt
	@echo "per file: build-coverage/meson-logs/coverage.txt"

tidy: ## clang-tidy and cppcheck over all sources
	@scripts/install-deps ci
	@CC=clang; export CC; $(call setup,build-clang,-Dwerror=true)
	@scripts/static-analysis build-clang

format: ## put all C sources into the house's form
	@scripts/install-deps ci
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean: ## remove every build folder, and what pip left in bindings/python
	@rm -rf build-*/ bindings/python/build bindings/python/src/*.egg-info

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/\1\t\2/p' Makefile | expand -t 12

, := ,
