# make help lists the targets.
SHELL     := /bin/bash
SCHEDULER ?= volcano
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)
TOOLS     := bin/tools
# All programs and tests are static. The memory limit of the agent's child counts reserved memory, and each thread
# of a program with C's library reserves 72 MiB.
export CGO_ENABLED := 0
# Tests use the same flags as the programs, so that Go compiles every package only once.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)
# Every package. ./... leaves out those of api, which is a module of its own.
ALL       := mlplatform.example.com/trainingjob-operator/...
# With these tags every file is compiled.
TAGS      := cluster,e2e,long
# Where generate writes; verify sets it to a temporary directory.
OUT       ?= .
# Where nodes pull the images of a release from (with the path before their names), and where its other files are.
REGISTRY    ?= registry.example.com
RELEASE_URL ?= https://downloads.example.com/trainingjob-operator/$(VERSION)

.PHONY: help
help: ## list the targets
	@awk '/^##@ /{printf "\n%s\n", substr($$0, 5)} \
		match($$0, /^[a-z0-9-]+:.*## /){target = $$0; sub(/:.*/, "", target); \
		printf "  %-16s %s\n", target, substr($$0, RLENGTH + 1)}' Makefile

##@ Build

.PHONY: build
build: ## bin/operator, bin/server, bin/agent, bin/localcluster and bin/kubectl-tj, each a static binary
	GOGC=400 go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/operator ./cmd/server ./cmd/localcluster \
		./cmd/agent ./cmd/kubectl-tj

.PHONY: generate
generate: $(TOOLS)/built ## deepcopy code, CRD, RBAC, policies, alerts, the chart's schema and reference pages from the code
	@mkdir -p $(OUT)/api/v1alpha1 $(OUT)/docs $(addprefix $(OUT)/deploy/,crd rbac admission chart monitoring server)
	$(TOOLS)/controller-gen paths=$(ALL:/...=/api/...) object crd:generateEmbeddedObjectMeta=true \
		output:object:dir=$(OUT)/api/v1alpha1 output:crd:dir=$(OUT)/deploy/crd
	$(TOOLS)/controller-gen paths=./pkg/controller paths=./pkg/reportserver rbac:roleName=trainingjob-operator \
		output:rbac:dir=$(OUT)/deploy/rbac
	$(TOOLS)/controller-gen paths=./pkg/server/recorder paths=./pkg/server/placement paths=./pkg/server/namespaces \
		paths=./cmd/server rbac:roleName=trainingjob-server \
		output:rbac:dir=$(OUT)/deploy/server
	$(TOOLS)/crd-ref-docs --log-level ERROR --max-depth 25 --source-path api --config lab/modules/tools/crd-ref-docs.yaml \
		--templates-dir lab/modules/tools/api-docs --renderer markdown --output-path $(OUT)/docs/api.md
	go run ./cmd/crd-postprocess --rules api/v1alpha1/rules.yaml $(OUT)/deploy/crd/mlplatform.example.com_trainingjobs.yaml $(OUT)/docs/api.md \
		$(OUT)/deploy/admission/environment.yaml
	go run ./cmd/docs-gen configuration > $(OUT)/docs/configuration.md
	go run ./cmd/docs-gen metrics > $(OUT)/docs/metrics.md
	go run ./cmd/docs-gen server-configuration > $(OUT)/docs/server-configuration.md
	go run ./cmd/docs-gen openapi > $(OUT)/docs/openapi.json
	go run ./cmd/docs-gen values-schema > $(OUT)/deploy/chart/values.schema.json
	go run ./cmd/docs-gen prometheus-rule > $(OUT)/deploy/monitoring/prometheus_rule.yaml

$(TOOLS)/built: lab/modules/tools/go.mod lab/modules/tools/go.sum
	@mkdir -p $(TOOLS)
	go -C lab/modules/tools build -o $(CURDIR)/$(TOOLS)/ tool
	@touch $@

# The chart needs a semantic version: that of the tag, otherwise 0.0.0 with the commit.
CHART_VERSION ?= $(if $(filter v%,$(VERSION)),$(patsubst v%,%,$(VERSION)),0.0.0-g$(VERSION))

.PHONY: chart
chart: $(TOOLS)/built ## bin/trainingjob-operator-<version>.tgz, the Helm chart
	$(TOOLS)/helm package deploy/chart --destination bin --version $(CHART_VERSION) --app-version $(VERSION)

##@ Deploy

NAMESPACE ?= trainingjob-system
# Values of the chart, such as --values my.yaml --set image.repository=...
VALUES    ?=
# lab/operator.yaml serves only on this machine and needs no lease.
CONFIG    ?= lab/operator.yaml

.PHONY: install
install: $(TOOLS)/built ## install or upgrade the operator in the cluster of your kubeconfig (VALUES="--values my.yaml")
	$(TOOLS)/helm upgrade trainingjob-operator deploy/chart --install --namespace $(NAMESPACE) --create-namespace --wait $(VALUES)

.PHONY: run
run: build ## run the operator on this machine for the cluster of your kubeconfig, which needs the CRD (CONFIG=lab/operator.yaml)
	bin/operator --config $(CONFIG) --zap-devel

##@ Release

# Another version of Go would build different bytes from the same commit.
images release: export GOTOOLCHAIN := $(shell sed -n 's/^toolchain //p' go.mod)

.PHONY: images
images: ## bin/images: operator, server and agent for amd64 and arm64, as OCI archives with SBOMs (REGISTRY=registry.example.com)
	rm -rf bin/images
	go run ./cmd/release images --version '$(VERSION)' --registry '$(REGISTRY)' --out bin/images

.PHONY: release
release: $(TOOLS)/built ## dist: images, manifests, kubectl plugin, wheel, SBOMs, checksums (VERSION=v0.2.0 REGISTRY=... RELEASE_URL=...)
	rm -rf dist
	go run ./cmd/release all --version '$(VERSION)' --registry '$(REGISTRY)' --out dist --url '$(RELEASE_URL)' \
		--helm $(CURDIR)/$(TOOLS)/helm
	@$(call krew,dist/tj.yaml)

# Validates a manifest with krew's tool, and prints its output only if the manifest is invalid.
krew = output=$$($(TOOLS)/validate-krew-manifest -skip-install -manifest $(1) 2>&1) || { echo "$$output"; exit 1; }

##@ Test

.PHONY: verify
verify: $(TOOLS)/built ## check formatting, vet, staticcheck, generated files, krew, direction of imports, length of lines
	@files=$$(gofmt -l $$(go list -f '{{.Dir}}' -tags $(TAGS) $(ALL))); \
		if [ -n "$$files" ]; then echo "run gofmt -w on:" $$files; exit 1; fi
	go vet $(ALL) && go vet -tags $(TAGS) $(ALL) # test-unit compiles without tags
	$(TOOLS)/staticcheck -tags $(TAGS) $(ALL)
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && $(MAKE) --silent generate OUT="$$tmp" && \
		for f in $$(cd "$$tmp" && find . -type f); do \
			diff -u "$$f" "$$tmp/$$f" || { echo "$$f is out of date: run make generate"; exit 1; }; \
		done
	@$(call krew,cmd/release/testdata/tj.yaml)
	go test -count=1 . ./test/ci # these tests read files that the key of the test cache does not include

.PHONY: vulncheck
vulncheck: $(TOOLS)/built ## known vulnerabilities in code that the commands use (queries Go's database)
	$(TOOLS)/govulncheck ./cmd/...

.PHONY: test-unit
test-unit: ## tests that need only Go
	go test $(ALL)
	@echo; echo "Tests with real schedulers and containers: make test, make test-all (see test/tiers.yaml)"

.PHONY: test-docs
test-docs: build $(TOOLS)/built ## every command of README.md, docs/ and examples/, on every scheduler
	test/e2e/install.sh
	go test -tags cluster,long -count 1 -v -timeout 60m ./test/docs

# test/tiers.yaml lists what each of these runs.
.PHONY: test
test: build ## the tests of every change, on real schedulers and a real kubelet (as root on Debian: it installs packages)
	go run ./test/ci test

.PHONY: test-all
test-all: build ## make test, and every part of the other tests
	go run ./test/ci all

.PHONY: test-part
test-part: build ## one part of the other tests (PART=reasons)
	go run ./test/ci part '$(PART)'

.PHONY: test-landing
test-landing: build ## the parts that .ci/run has time for
	go run ./test/ci landing

.PHONY: pictures
pictures: build ## screenshots of the board during the demo, in docs/pictures (as root on Debian)
	test/e2e/install.sh
	go test -tags cluster -count 1 -run '^TestStory$$/^volcano$$' ./test/demo -args -pictures $(CURDIR)/docs/pictures

.PHONY: e2e
e2e: build ## trainers on a real kubelet that are interrupted and resume bit for bit (as root on Debian)
	test/e2e/install.sh
	bin/localcluster build --real-node
	go test -tags e2e -count 1 -v -timeout 30m -run '^TestInstall$$' ./test/install
	go test -tags e2e -count 1 -v -timeout 120m ./test/e2e

# Names that are joined by commas share an image, and are played in one cluster.
FRAMEWORKS ?= jax,keras tensorflow,parameterserver xgboost,lightgbm mxnet \
	ddp,torchrun,fsdp2,deepspeed-zero2,deepspeed-zero3,huggingface,huggingface-callback,lightning

.PHONY: e2e-frameworks
e2e-frameworks: build ## current releases of frameworks on a real kubelet, resumable (FRAMEWORKS=jax; as root on Debian)
	test/e2e/install.sh
	bin/localcluster build --real-node --scheduler volcano
	@passed=$(CURDIR)/bin/$@/$(CRASH_TREE); mkdir -p "$$passed"; for group in $(FRAMEWORKS); do \
		left=; for name in $$(echo "$$group" | tr , ' '); do \
			if [ -e "$$passed/$$name" ]; then echo "$$name has passed before"; else left="$$left,$$name"; fi; \
		done; \
		if [ -n "$$left" ]; then \
			go test -tags e2e -count 1 -v -timeout 120m -run '^TestFrameworksTrain$$' ./test/e2e \
				-args -reduced -frameworks="$${left#,}" -passed="$$passed" || exit 1; \
		fi; \
	done

.PHONY: test-operate
test-operate: build ## two releases on a real kubelet: install with Helm, monitor, upgrade, roll back, remove (as root on Debian)
	test/e2e/install.sh
	bin/localcluster build --real-node
	go test -tags e2e -count 1 -v -timeout 60m -run '^TestOperate$$' ./test/install

# Packages of the server and its dependencies.
SERVER = ./pkg/history/... ./pkg/explain ./pkg/timeline ./pkg/queues ./pkg/tfjobadmin ./pkg/server/... ./cmd/server \
	./lab/postgres ./lab/mlflow ./lab/oidcprovider ./bench/history ./test/server

.PHONY: test-server
test-server: build ## the server on both databases, a real API server, MLflow and an OpenID provider (as root on Debian)
	test/e2e/install.sh
	bin/localcluster build
	go test -tags cluster,long -count 1 -timeout 60m $(SERVER)

# Packages of the board and its login.
BOARD = ./pkg/server/board/... ./pkg/server/session ./pkg/server/placement ./lab/browser ./bench/board \
	./test/server ./test/demo

.PHONY: test-board
test-board: build ## the board in a real browser on real clusters, and its load (as root on Debian)
	test/e2e/install.sh
	bin/localcluster build
	go test -tags cluster,long -count 1 -timeout 60m $(BOARD)

UPGRADE_ON ?= volcano,native,coscheduling,kueue

.PHONY: test-upgrade
test-upgrade: build ## forty gangs during an upgrade and a rollback, and a complete removal (UPGRADE_ON=volcano)
	go test -tags cluster -count 1 -v -timeout 120m ./test/upgrade -args -upgrade.full -upgrade.on=$(UPGRADE_ON)

.PHONY: race
race: build ## operator, server and tools with Go's race detector (needs a C compiler)
	@# The race detector needs several times the memory and allocates. Therefore the tests that limit these are skipped.
	@# TestPeers has its own target (test-peers).
	CGO_ENABLED=1 go test -race -tags cluster -timeout 40m -skip '^(TestUnderAttack|TestMemoryOfTheChildIsLimited|TestAllocationsOfDecide|TestPeers)$$' \
		./cmd/... ./pkg/... ./scheduler/... ./bench/...
	CGO_ENABLED=1 go test -race -tags cluster -timeout 40m -run '(OnFake|WithOptions|Mutants)$$' ./test/conformance

FUZZTIME ?= 1m
# The packages with fuzz targets. Their test binaries list the targets.
FUZZED    = $(shell grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (1m)
	@for package in $(FUZZED); do \
		targets=$$(go test -list '^Fuzz' $$package) || exit 1; \
		for target in $$(echo "$$targets" | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5x $$package || exit 1; \
		done; \
	done

CRASH_ON    ?= fake,volcano,native,coscheduling,kueue
CRASH_SHARD ?= 1/1
# The source tree of a crash run: a change to any file restarts it.
CRASH_TREE   = $(shell find . \( -path ./bin -o -path ./dist -o -path ./.localcluster -o -path ./bench/results -o -name .git \) -prune \
	-o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
CRASH_ARGS   = -crash-points=all -crash-shard=$(CRASH_SHARD) -crash-progress=$(CURDIR)/bin/$@/$(CRASH_TREE)

.PHONY: crash
crash: build ## kill the operator at every write of two cycles, resumable (CRASH_ON=volcano CRASH_SHARD=1/4)
	go test -tags cluster -run '^TestCrashAtEveryWrite' -count 1 -v -timeout 240m -parallel 12 ./test/conformance \
		-args $(CRASH_ARGS) -crash-on=$(CRASH_ON)

.PHONY: test-preemption
test-preemption: build ## preemption by the operator on all schedulers that support it, with crashes of the operator
	go test -tags cluster -count 1 -v -timeout 150m \
		-run '^TestScenariosOn/^scenarios$$/^broker-|^TestCrashAtEveryWriteOfABroker$$' \
		./test/conformance -args -broker-all

.PHONY: test-hangs
test-hangs: build ## gangs that hang on all schedulers, with crashes of the operator, and PyTorch on a real kubelet (as root on Debian)
	test/e2e/install.sh
	bin/localcluster build --real-node
	go test -tags cluster -count 1 -v -timeout 90m -parallel 32 -run '^Test(Hangs|CrashAtEveryWriteOfAHang)$$' \
		./test/conformance -args -hangs
	go test -tags e2e -count 1 -v -timeout 60m -run '^TestHang' ./test/e2e -args -reduced -hangs

.PHONY: test-reservations
test-reservations: build ## capacity that is kept for large gangs, on all schedulers; with forecasts also on a real kubelet (as root on Debian)
	test/e2e/install.sh
	bin/localcluster build --real-node
	go test -tags cluster -count 1 -v -timeout 30m -parallel 12 -run '^TestReservations$$' ./test/conformance -args -reservations
	go test -tags e2e -count 1 -v -timeout 30m -run '^(TestForecasts|TestLentCapacity)$$' ./test/e2e -args -reduced -starts

.PHONY: test-rehearsals
test-rehearsals: build ## broken and sound trainers that are rehearsed on all schedulers, and in PyTorch on a real kubelet (as root on Debian)
	test/e2e/install.sh
	bin/localcluster build --real-node
	go test -tags cluster -count 1 -v -timeout 90m -parallel 12 -run '^TestRehearsals$$' ./test/conformance -args -rehearsals
	go test -tags e2e -count 1 -v -timeout 60m -parallel 5 -run '^TestRehearsals$$' ./test/e2e -args -reduced -rehearsals
	go test -tags e2e -count 1 -v -timeout 60m -parallel 2 -run '^TestRehearsals$$' ./test/e2e -args -reduced -rehearsals \
		-frameworks=fsdp2,huggingface-callback

.PHONY: crash-preemption
crash-preemption: build ## kill the operator at every write of a preemption, resumable (hours; CRASH_SHARD=1/4)
	go test -tags cluster -count 1 -v -timeout 480m -parallel 8 -run '^TestScenariosOnFake$$/^scenarios$$/^broker-' \
		./test/conformance -args $(CRASH_ARGS) -crash-on=fake
	go test -tags cluster -count 1 -v -timeout 480m \
		-run '^TestScenariosOn(Volcano|Native)$$/^scenarios$$/^broker-(hands-over|silent-trainer|cheapest)$$' \
		./test/conformance -args $(CRASH_ARGS) -crash-on=volcano,native

.PHONY: crash-matrix
crash-matrix: build ## kill the operator at every write of every scenario, on the fake scheduler (hours; CRASH_SHARD=1/4)
	go test -tags cluster -run '^TestScenariosOnFake$$' -count 1 -v -timeout 480m ./test/conformance \
		-args $(CRASH_ARGS) -crash-on=fake

SEED   ?= 1
FAULTS ?= 1000

.PHONY: chaos
chaos: build ## random gangs with random faults of all components, resumable (SEED=1 SCHEDULER=volcano FAULTS=1000 CHAOS_BROKER=1)
	go test -tags cluster -run '^TestChaosOn' -count 1 -v -timeout 600m ./test/conformance \
		-args -chaos-seed=$(SEED) -chaos-on=$(SCHEDULER) -chaos-faults=$(FAULTS) \
		-chaos-progress=$(CURDIR)/bin/$@/$(CRASH_TREE) \
		$(if $(filter-out 0 false,$(CHAOS_BROKER)),-chaos-broker)

##@ Lab

.PHONY: demo
demo: build ## a gang waits, preempts and resumes (SCHEDULER=volcano|native|coscheduling|kueue)
	bin/localcluster demo --scheduler $(SCHEDULER)

##@ Benchmark

# Flags such as --stack, --workload and --rounds, see bench/README.md.
BENCH_ARGS ?=

.PHONY: bench-build
bench-build: build
	go build -o bin/bench ./cmd/bench

.PHONY: bench
bench: bench-build ## compare the operator, raw pods and other operators: report in bench/results
	bin/bench run $(BENCH_ARGS)

.PHONY: bench-quick
bench-quick: bench-build ## burst and fixed-8 at a tenth of the size, on three stacks
	bin/bench run --quick --out bench/results/quick $(BENCH_ARGS)

.PHONY: bench-full
bench-full: bench-build ## every workload on every stack, 7 rounds, resumable (hours)
	bin/bench run --set full --rounds 7 --cut 5 --resume --out bench/results/full $(BENCH_ARGS)

.PHONY: bench-scale
bench-scale: bench-build ## the load of 11,000 jobs with 8,000 ranks on every scheduler, and of 100,000 with 80,000 on a simulated API (hours)
	bin/bench scale $(BENCH_ARGS)

.PHONY: test-peers
test-peers: build ## how each benchmark stack handles gangs that lose ranks or are preempted
	go test -tags cluster -count 1 -v -timeout 60m ./bench/stack
	go test -tags cluster -count 1 -v -timeout 60m -run '^TestPreempted$$' ./bench/rounds -args -preempted=raw,ours

.PHONY: bench-preemption
bench-preemption: bench-build ## preemptions on real schedulers, with and without a request to save first (hours)
	bin/bench preempt play $(BENCH_ARGS)

.PHONY: bench-history
bench-history: bench-build ## load pages and reports of a history with a million attempts, on SQLite and PostgreSQL (as root on Debian)
	test/e2e/install.sh
	bin/bench history $(BENCH_ARGS)

.PHONY: bench-board
bench-board: bench-build ## the board's pages of 1,000 jobs and 10,000 ranks in a browser, while jobs change (as root on Debian)
	test/e2e/install.sh
	bin/bench board $(BENCH_ARGS)

.PHONY: bench-check
bench-check: bench-build ## test the harness: it must detect a stack that is slowed by 20%
	bin/bench check $(BENCH_ARGS)

.PHONY: bench-attack
bench-attack: ## the report server under eleven attacks: its peak memory, and its handling of honest reports (Linux)
	go test -count 1 -v -timeout 15m -run '^TestUnderAttack$$' ./pkg/reportserver -args -attack.full
