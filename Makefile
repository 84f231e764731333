# Lists the targets.
help:
	@awk '/^# /{if (!text) text = substr($$0, 3); next} /^[a-z0-9]+:/{sub(":.*", ""); if (text) printf "make %-12s %s\n", $$1, text} {text = ""}' Makefile

# Starts a server with a cache, its page, and a load, on port 8080.
hello:
	@echo "go run -C examples ./hello: with empty caches it compiles for half a minute, and names each package."
	@go run -C examples -v ./hello

# Before a commit: formatting, vet, and the tests of the library, in two minutes.
quick: fmt
	go vet ./...
	go test -vet=off ./...

# Before new tests land: those that a diff adds, a hundred times; BASE=origin/main.
stress:
	@scripts/stress $(addprefix -few ,$(servers) $(foreign) $(heavy)) $(BASE)

# Evidence for a release, in half an hour: writes docs/evidence.md. MINUTES=60 for longer proofs.
evidence:
	@scripts/evidence $(MINUTES)

# What every change must pass. .ci/run installs what it needs and runs it.
gate:
	scripts/steps $(steps)
steps = fmt tidy vet workflows platforms staticcheck test race benchmarks

# What a release must pass, beside the gate: other libraries, other versions, and what takes long.
full:
	scripts/steps $(steps) vetall testall raceall suites faults release lincheck gozerooldest oldest newest wasm bits fuzz benchmarksall compare vulnerabilities

# The modules with the most libraries of their own: other caches, Prometheus.
heavy = bench proof/alerts
light = scripts/together $(addprefix -but ,$(heavy))

# Tests of real servers and in real time. Nothing compiles or runs beside them.
servers = near/redis near/postgres proof/redis proof/truth gozero/collection examples/fleet examples/hello examples/heartbeats

# Tests of other libraries, of go-zero's services and of programs that test, for full.
foreign = near/gozero examples/service proof/gozero proof/peers proof/release proof/suites

# What is concurrent and has no servers.
concurrent = cache timingwheel lru stats internal near proof/lincheck proof/pairs

# -- the gate

# Code is formatted.
fmt:
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted, gofmt -w mends it:"; echo "$$unformatted"; exit 1; }

# Each go.mod has what its module needs, and nothing else.
tidy:
	@for module in $$(find . -name go.mod -not -path '*/testdata/*' -exec dirname {} \;); do echo $$module; (cd $$module && go mod tidy -diff) || exit 1; done

# go vet, but for the modules with the most libraries.
vet:
	@$(light) go vet

# The workflows of the forge.
workflows:
	@go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 -shellcheck= -pyflakes=

# All modules compile on other platforms, and on 32 bits; the library for WebAssembly too.
platforms:
	@typecheck=$$(mktemp -d)/typecheck; go build -C proof -o $$typecheck ./typecheck && \
	for platform in linux/arm64 windows/amd64 darwin/arm64 linux/386; do \
		echo $$platform; GOOS=$${platform%/*} GOARCH=$${platform#*/} scripts/together $$typecheck || exit 1; done; \
	for os in js wasip1; do echo $$os/wasm; GOOS=$$os GOARCH=wasm $$typecheck ./... || exit 1; done

# staticcheck, but for the modules with the most libraries.
staticcheck:
	@$(light) $(runstaticcheck)
runstaticcheck = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The tests, but for those that full adds.
test: testbase testfake testservers

# Those of what imports the standard library only: with empty caches the first ones within a minute.
base = lru stats internal
testbase:
	@echo "The tests of $(base), for ten seconds; with empty caches they compile first, for a minute."
	@scripts/tests base -vet=off -count=1 -p=2 $(patsubst %,./%/...,$(base))

# The others in fake time, and those that compute.
testfake:
	@echo "Other tests, for two minutes; with empty caches they download and compile first, for three minutes."
	@$(light) $(addprefix -but ,$(base) $(servers) $(foreign)) $(CURDIR)/scripts/tests test -vet=off -count=1 -p=2

# Those of servers and in real time, one package after the other; most of their time is waiting.
testservers:
	@echo "The tests with servers and in real time, for a minute."
	@$(light) $(addprefix -only ,$(servers)) $(CURDIR)/scripts/tests servers -vet=off -count=1 -p=1 -parallel=4

# The race detector over what is concurrent, in any order.
race:
	@$(light) $(addprefix -only ,$(concurrent)) $(addprefix -but ,$(servers) $(foreign)) $(CURDIR)/scripts/tests race -vet=off -count=1 -p=2 -race -shuffle=on '-skip=^Test($(alone))$$'

# Tests that compute, or fill memory, for long in one goroutine: race leaves them out.
alone = SampleAgainstAll|WhatTTLsCost|EmptiedWheelsAreSmall|IdleWheelsAreSmall|KeyedMemory|ShrinkAfterABurst|PartsOfTheBudgetDoNotDrift|SmallShardsMemory|FreshnessMemory|WeighedShards

# The library's benchmarks run, once.
benchmarks:
	@$(light) -only cache -only timingwheel -only lru -only stats -only internal go test -vet=off -run '^$$' -bench . -benchtime 1x -short -p 1

# -- full

# go vet and staticcheck of all modules.
vetall:
	@scripts/together go vet
	@scripts/together $(runstaticcheck)

# The tests that the gate leaves out.
testall:
	@scripts/together $(addprefix -only ,$(heavy) $(foreign)) -but proof/suites -but proof/release $(CURDIR)/scripts/tests all -vet=off -count=1 -p=1 -timeout=30m

# The race detector over all that has something concurrent.
raceall:
	@$(light) -but examples/snippets $(addprefix -but ,proof/release proof/mutation proof/suites proof/typecheck) $(CURDIR)/scripts/tests raceall -vet=off -count=1 -p=1 -race -shuffle=on -timeout=30m '-skip=^Test($(alone)|Advice.*)$$'

# The tests of other libraries against what takes their place here, with the race detector.
suites:
	@$(light) -only proof/suites $(CURDIR)/scripts/tests suites -vet=off -count=1 -race -timeout=30m -args -suites.long

# Each fault of Redis and the network three times, and in each direction; those of PostgreSQL and of relays 26 times.
faults:
	@$(light) -only proof/redis $(CURDIR)/scripts/tests faults -vet=off -count=1 -timeout=30m -args -redis.rounds=3
	@$(light) -only proof/truth $(CURDIR)/scripts/tests truth -vet=off -count=1 -timeout=60m -args -truth.rounds=26

# The modules as users get them, with a service of go-zero.
release:
	@$(light) -only proof/release $(CURDIR)/scripts/tests release -vet=off -count=1 -timeout=30m -args -release.gozero

# Random histories against a model, for longer.
lincheck:
	@$(light) -only proof/lincheck $(CURDIR)/scripts/tests lincheck -vet=off -count=1 -run=Pinwheel -args -lincheck.for=40s

# The modules for go-zero with the oldest one that they allow.
gozerooldest:
	@cd gozero && $(CURDIR)/scripts/tests gozero -count=1 ./...
	@cd near/gozero && $(CURDIR)/scripts/tests neargozero -count=1 ./...

# The library with the oldest Go that go.mod allows.
oldest:
	@GOTOOLCHAIN=go$$(go list -m -f '{{.GoVersion}}') scripts/tests oldest -count=1 ./...

# The library with the newest Go, which also vets all modules.
newest:
	@GOTOOLCHAIN=$(newestgo) scripts/tests newest -count=1 ./...
	@GOTOOLCHAIN=$(newestgo) scripts/together go vet
newestgo = go1.27.3

# The core's tests as WebAssembly, by node, but for those that want processes, processors, or the
# memory that other platforms take.
wasm:
	@GOOS=js GOARCH=wasm go test -vet=off -count=1 -short -exec="$$(go env GOROOT)/lib/wasm/go_js_wasm_exec" \
		-skip='^Test(SmallCaches|FreshnessMemory|SmallShardsMemory|SaveFileThatIsKilled|ManyProcessors)$$' ./cache ./timingwheel ./lru ./stats

# The library on 32 bits, also with its features in pairs.
bits:
	@GOARCH=386 scripts/tests bits -vet=off -count=1 ./...
	@cd proof && GOARCH=386 $(CURDIR)/scripts/tests pairsbits -vet=off -count=1 ./pairs

# Each fuzz target with some inputs.
fuzz:
	@scripts/fuzz

# Each benchmark of every module runs, once.
benchmarksall:
	@scripts/together go test -vet=off -run '^$$' -bench . -benchtime 1x -short -p 1

# The comparison with other caches runs.
compare:
	@cd bench && go run . -short >/dev/null

# Known vulnerabilities in what users get.
vulnerabilities:
	@for module in . prometheus gozero otel near/redis near/gozero near/postgres; do echo $$module; (cd $$module && go run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...) || exit 1; done

.PHONY: help hello quick stress evidence gate full fmt tidy vet workflows platforms staticcheck test testbase testfake testservers race benchmarks \
	vetall testall raceall suites faults release lincheck gozerooldest oldest newest wasm bits fuzz benchmarksall compare vulnerabilities
