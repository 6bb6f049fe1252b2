# make help lists the targets.
SHELL     := /bin/bash
SCHEDULER ?= volcano
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS   := -s -w -X main.version=$(VERSION)
TOOLS     := bin/tools
# With them every file is compiled: none is left out by a tag.
TAGS      := cluster,e2e
# Packages with tests against a real control plane. Two run beside each other: each has clusters of its own, and mostly waits.
# Backwards, so that the longest does not begin last.
CLUSTER    = $(shell grep -rl --include='*_test.go' '^//go:build cluster' . | xargs -n1 dirname | sort -ru)
# Where `generate` writes; `verify` sets it to a temporary directory.
OUT       ?= .

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' Makefile

.PHONY: build
build: ## bin/operator, bin/localcluster and bin/agent, each a static binary
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/operator ./cmd/localcluster ./cmd/agent

.PHONY: generate
generate: $(TOOLS)/built ## deepcopy code, CRD, RBAC role and reference pages (API, configuration, metrics) from the code
	@mkdir -p $(OUT)/api/v1alpha1 $(OUT)/deploy/crd $(OUT)/deploy/rbac $(OUT)/docs
	$(TOOLS)/controller-gen paths=./api/... object crd:generateEmbeddedObjectMeta=true \
		output:object:dir=$(OUT)/api/v1alpha1 output:crd:dir=$(OUT)/deploy/crd
	$(TOOLS)/controller-gen paths=./pkg/... rbac:roleName=trainingjob-operator output:rbac:dir=$(OUT)/deploy/rbac
	$(TOOLS)/crd-ref-docs --log-level ERROR --max-depth 25 --source-path api --config lab/modules/tools/crd-ref-docs.yaml \
		--templates-dir lab/modules/tools/api-docs --renderer markdown --output-path $(OUT)/docs/api.md
	go run ./cmd/crd-postprocess --rules api/v1alpha1/rules.yaml $(OUT)/deploy/crd/mlplatform.example.com_trainingjobs.yaml $(OUT)/docs/api.md
	go run ./cmd/docs-gen configuration > $(OUT)/docs/configuration.md
	go run ./cmd/docs-gen metrics > $(OUT)/docs/metrics.md

$(TOOLS)/built: lab/modules/tools/go.mod lab/modules/tools/go.sum
	@mkdir -p $(TOOLS)
	go -C lab/modules/tools build -trimpath -o $(CURDIR)/$(TOOLS)/ tool
	@touch $@

.PHONY: verify
verify: $(TOOLS)/built ## formatting, go vet, staticcheck, generated files, direction of imports
	@files=$$(gofmt -l $$(go list -f '{{.Dir}}' -tags cluster ./...)); \
		if [ -n "$$files" ]; then echo "run gofmt -w on:" $$files; exit 1; fi
	go vet ./... && go vet -tags $(TAGS) ./... # without tags too: make test-unit compiles that
	$(TOOLS)/staticcheck -tags $(TAGS) ./...
	@tmp=$$(mktemp -d) && trap 'rm -rf "$$tmp"' EXIT && $(MAKE) --silent generate OUT="$$tmp" && \
		for f in $$(cd "$$tmp" && find . -type f); do diff -u "$$f" "$$tmp/$$f" || { echo "$$f is out of date: run make generate"; exit 1; }; done
	go test -count=1 . # what go list says is no part of the test cache's key

.PHONY: test-unit
test-unit: ## tests that need nothing but Go
	go test ./...
	@echo; echo "Left out: the tests of these packages against a real control plane, test/install and test/e2e (make test runs them)"
	@printf '  %s\n' $(CLUSTER)

.PHONY: test
test: build ## every test, also those against a real control plane, built from Go modules at the first run, and the reduced form of e2e
	test/e2e/install.sh
	bin/localcluster build --real-node
	go test $$(go list ./... | grep -vxF "$$(go list $(CLUSTER))")
	go test -tags cluster -p 2 -timeout 40m $(CLUSTER)
	go test -tags e2e -count 1 -v -timeout 20m ./test/install
	go test -tags e2e -count 1 -v -timeout 40m ./test/e2e -args -reduced
	@$(MAKE) --no-print-directory --jobs 2 --output-sync test-demo-volcano test-demo-native test-demo-coscheduling test-demo-kueue

test-demo-%:
	bin/localcluster demo --scheduler $* --dir bin/$@ --down </dev/null

.PHONY: e2e
e2e: build ## trainers in containers on a real kubelet, interrupted and resumed bit for bit (Linux, root; installs Debian packages)
	test/e2e/install.sh
	bin/localcluster build --real-node
	go test -tags e2e -count 1 -v -timeout 20m ./test/install
	go test -tags e2e -count 1 -v -timeout 120m ./test/e2e

.PHONY: race
race: build ## the operator, the agent and the tools under Go's race detector, with a control plane and the fake scheduler (needs a C compiler)
	CGO_ENABLED=1 go test -race -tags cluster -timeout 40m ./api/... ./cmd/... ./pkg/... ./scheduler/... ./bench/...
	CGO_ENABLED=1 go test -race -tags cluster -timeout 40m -run '(OnFake|WithHabits|Mutants)$$' ./test/conformance

.PHONY: demo
demo: build ## a gang that waits whole, preempts, and runs again, in a local cluster (SCHEDULER=volcano|native|coscheduling|kueue)
	bin/localcluster demo --scheduler $(SCHEDULER)

.PHONY: bench-burst
bench-burst: build ## time and writes for a burst of gangs
	go run ./bench/burst

.PHONY: crash
crash: build ## the operator killed before and after each write of a preempt-and-return and a preempt-and-resume cycle, on the fake and every real scheduler
	go test -tags cluster -run '^TestCrashAtEveryWrite' -count 1 -v -timeout 240m ./test/conformance \
		-args -crash-points=all -crash-on=fake,volcano,native,coscheduling,kueue

.PHONY: crash-matrix
crash-matrix: build ## the same in every scenario, on the fake (hours)
	go test -tags cluster -run '^TestScenariosOnFake$$' -count 1 -v -timeout 480m ./test/conformance \
		-args -crash-points=all -crash-on=fake
