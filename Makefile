# The names of everything that is done to this repository. CI runs .ci/run, which
# uses them.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The program is built without C. So is what tests it, which is linked in half the time;
# only the race detector needs C.
export CGO_ENABLED := 0
race-loop race-others: export CGO_ENABLED := 1

# Packages whose tests have several goroutines at work (internal/testkit/archtest lists who starts them), with
# all that they call: the race detector finds nothing in the others that it does not find in these.
RACE := $(addprefix ./internal/,agent base/panics base/parallel render/output git git/pack forge \
	$(addprefix server/,daemon display session web webhook) $(addprefix reconcile/,fetch observe registry repos shares source))

# The tests of the loop take half an hour under the race detector: RACE_LOOP=regexp chooses.
RACE_LOOP ?= .

# Of the others, RACE_SKIP=regexp leaves out what works on one thing after the other.
RACE_SKIP ?= ^$$

# Packages whose tests know -update, those that have benchmarks or fuzz targets, and those of which -short leaves
# something out.
having     = $(addprefix ./,$(sort $(dir $(shell grep -rlE --include='*_test.go' '$(1)' cmd internal templates schemas))))
GOLDEN     = $(call having,internal/testkit/golden"|flag.Bool."update")
BENCHMARKS = $(call having,^func Benchmark)
FUZZ       = $(call having,^func Fuzz)

BENCH    ?= .
FUZZTIME ?= 1m
CHAOS    ?= 30m

.PHONY: all build test race race-loop race-others lint golden bench e2e fuzz demo

all: build lint test

# The version that a build is stamped with, where Git can tell.
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)

build: ## make bin/fairlead and bin/fairlead-agent
	$(GO) build -trimpath $(if $(VERSION),-ldflags '-X github.com/fairlead-io/fairlead/internal/cli.stampedVersion=$(VERSION)') -o bin/fairlead ./cmd/fairlead
	$(GO) build -trimpath $(if $(VERSION),-ldflags '-X github.com/fairlead-io/fairlead/internal/agent.stampedVersion=$(VERSION)') -o bin/fairlead-agent ./cmd/fairlead-agent

# Tests allocate much and keep little: a quarter of their time would be the collector's.
test: export GOGC ?= 400

# The files of tests live for seconds, and are made on disks at twice the cost: where there is
# room in memory, and programs may be run there, that is where they are. What Go builds is there,
# too: with GOTMPDIR elsewhere, t.TempDir would be elsewhere.
ifndef TMPDIR
MEMORY := $(shell test "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $$4 }')" -gt 4000000 2>/dev/null && \
	probe=$$(mktemp /dev/shm/probe.XXXXXX) && chmod +x $$probe && $$probe 2>/dev/null && echo /dev/shm; rm -f $$probe)
endif
ifneq ($(MEMORY),)
test race-loop race-others: export TMPDIR := $(MEMORY)
endif

# Tests wait for servers and for the next cycle: two packages a processor keep it busy, and as many tests of the last one.
PACKAGES ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1))))

# What takes longest, first: nothing is then left that runs alone at the end.
LONGEST := $(addprefix ./internal/,reconcile/loop server/daemon forge/gitea reconcile/recorder cli testkit/docstest)

# What takes minutes is left out: each of those tests says so. SHORT= runs everything, as .ci/run does.
SHORT ?= -short

# Without vet: lint runs all of it, and with what go test would run of it, each package would be
# looked at twice.
test: ## run the tests, but for what takes minutes; SHORT= runs all
	$(GO) test -vet=off -p $(PACKAGES) -parallel $(PACKAGES) -timeout 60m $(SHORT) $(TESTFLAGS) $(LONGEST) ./...

# -short is for what takes minutes without the race detector: scenarios with Git are what it is here for.
RACE_SHORT := $(filter ./internal/server/% ./internal/render/output,$(RACE))

race: race-loop race-others ## run the tests of what runs in parallel under the race detector; -j2 runs both halves at a time

# It is one package, whose scenarios run one after the other on one processor.
race-loop:
	$(GO) test -race -timeout 60m $(filter-out -short,$(TESTFLAGS)) -run '$(RACE_LOOP)' ./internal/reconcile/loop

race-others:
	$(GO) test -race -timeout 60m -skip '$(RACE_SKIP)' $(filter-out -short,$(TESTFLAGS)) $(filter-out $(RACE_SHORT),$(RACE))
	$(GO) test -race -timeout 60m -skip '$(RACE_SKIP)' $(TESTFLAGS) $(RACE_SHORT)

lint: ## look for what is badly formatted or probably wrong
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted (gofmt -w):"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...

golden: ## rewrite what the golden tests want; read the diff before committing it
	$(GO) test $(GOLDEN) -update

bench: ## measure; BENCH=regexp chooses. BENCHMARKS.md says what the figures mean
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 60m $(BENCHMARKS)

e2e: ## half an hour of kills, faults and hostile commits (CHAOS=30m)
	FAIRLEAD_CHAOS=$(CHAOS) $(GO) test -timeout 0 -v -count=1 -run '^TestChaos$$' ./internal/server/daemon

fuzz: ## run each fuzz target for FUZZTIME
	@set -e; for package in $(FUZZ); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

demo: ## run the daemon over a sample fleet on this machine
	$(GO) run ./cmd/fairlead demo
