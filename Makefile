# What this project does from the command line; `make` lists it. Each target
# works on a new machine too: it installs and starts what it needs itself.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

tool    := go tool -modfile=tools/go.mod
version := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
vendor  := web/static/vendor/htmx.min.js web/static/vendor/sse.min.js

# The e2e tests need all services, programs and the browser; the others do not.
packages = $$(go list ./... | grep -v /e2e)
gotest   = go test -race -shuffle=on -count=1 $(if $(CI),-v)
# The packages whose tests talk to a broker or to Redis, but for the e2e ones.
brokered = $$(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | \
	awk '!/\/e2e/ && /\/testkit\/(rabbit|redis)test/ { print $$1 }')

.PHONY: help
help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9%-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# --- run ---

.PHONY: demo
demo: ## run the whole story in a browser: services, payment system, console (Ctrl-C ends it)
	@scripts/demo

.PHONY: services
services: ## start private RabbitMQ, Redis and PostgreSQL under .run/
	@scripts/services start

.PHONY: stop
stop: ## stop what services started
	@scripts/services stop

# --- prove ---

.PHONY: test
test: ## everything that CI proves; a part that fails does not hide the others
	@$(MAKE) --no-print-directory --keep-going verify lint test-go test-debian13 test-e2e

.PHONY: test-unit
test-unit: assets ## only the tests that need no service, fast
	go test -short -shuffle=on $(packages)

.PHONY: test-go
test-go: assets services ## unit and integration tests
	@scripts/ensure gcc=gcc,libc6-dev
	$(gotest) $(packages)

.PHONY: test-brokers
test-brokers: assets services ## integration tests on both brokers and caches: Debian 12's and Debian 13's
	@scripts/ensure gcc=gcc,libc6-dev
	$(gotest) $(brokered)
	@$(MAKE) --no-print-directory test-debian13

.PHONY: test-debian13
test-debian13: assets services ## the second half of test-brokers: RabbitMQ 4.0, Valkey
	@scripts/ensure gcc=gcc,libc6-dev
	scripts/on-debian13 $(gotest) $(brokered)

.PHONY: test-e2e
test-e2e: assets services ## whole programs and pages, in Chromium
	@scripts/ensure gcc=gcc,libc6-dev chromium=chromium,fonts-liberation,fonts-wqy-microhei
	$(gotest) -timeout 12m ./e2e/...

.PHONY: soak-drain
soak-drain: assets services ## kill everything 250 times and compare the store with what was published (soak="-seed 7": that run)
	go run ./e2e/soak $(soak)

.PHONY: bench-drain
bench-drain: assets services ## measure the drain beside the limits of broker and store (bench="-quick": in short)
	go run ./bench/drain $(bench)

.PHONY: lint
lint: assets ## formatting, vet, style and the arrows of the architecture
	@scripts/ensure shellcheck=shellcheck
	shellcheck -x scripts/* .ci/run
	go vet ./...
	$(tool) golangci-lint run

.PHONY: verify
verify: ## fail if generated code is not what the sources say
	@scripts/fresh

# --- make ---

.PHONY: build
build: assets ## build bin/console and bin/paydemo
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.release=$(version)" -o bin/ ./cmd/...

.PHONY: generate
generate: ## turn *.templ into Go
	$(tool) templ generate -path web -lazy=false

.PHONY: format
format: ## format Go and templ files
	$(tool) golangci-lint fmt
	$(tool) templ fmt web

.PHONY: assets
assets: $(vendor) ## fetch the browser scripts the console serves

.PHONY: image
image: ## build the container image
	docker build --build-arg VERSION=$(version) -t dead-letter-office .

node_modules/.package-lock.json: package.json package-lock.json .npmrc
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

web/static/vendor/htmx.min.js: node_modules/.package-lock.json
	@mkdir -p $(@D)
	cp node_modules/htmx.org/dist/htmx.min.js $@

web/static/vendor/sse.min.js: node_modules/.package-lock.json
	@mkdir -p $(@D)
	cp node_modules/htmx-ext-sse/dist/sse.min.js $@
