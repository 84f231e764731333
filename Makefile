# Lists the targets.
help:
	@awk '/^# /{text = substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-8s %s\n", $$1, text}' Makefile

# Runs the tests. More packages at once than processors: many tests sleep.
test:
	@scripts/together $(addprefix -but ,$(slow)) go test $(flags) -vet=off -p 4

# The modules with the most libraries of their own: other caches, Prometheus, MongoDB.
slow = proof/alerts bench bench/near near/gozero

# Runs the tests with the race detector, in any order.
race:
	@scripts/together $(addprefix -but ,$(raceless)) go test $(flags) -vet=off -race -shuffle on -count 1 -p 4 -skip '^Test($(alone))$$'

# Compiling for the race detector takes longer than the tests. So race leaves out what
# measures, what starts other programs and has nothing concurrent of its own, and tests that
# compute for long in one goroutine. The tests of suites have the race detector by themselves.
raceless = bench bench/near examples/snippets proof/alerts proof/release proof/mutation proof/suites proof/typecheck
alone = AllInterleavings|InterleavingsShowFlaws|Survey|FreshModule|PageInABrowser|SampleAgainstAll|Advice.*|WhatTTLsCost

# Runs what takes longer, and the modules that test leaves out. With -j 3 -O three at a time, the longest first.
long: suites $(slow) faults release lincheck scrape

# Runs random histories against a model.
lincheck:
	cd proof && go test $(flags) ./lincheck -run Pinwheel -lincheck.for 40s

# Builds what users would get, with a service of go-zero.
release:
	cd proof && go test $(flags) ./release -release.gozero

# Has more faults of Redis and the network.
faults:
	cd proof && go test $(flags) ./redis -redis.rounds 3

# Runs other libraries' tests, with the race detector.
suites:
	cd proof && go test $(flags) -race ./suites -suites.long

# Asks a thousand caches for their statistics.
scrape:
	cd bench && go test $(flags) ./scrape

$(slow):
	cd $@ && go test $(flags) ./...

.PHONY: help test race long lincheck release faults suites scrape $(slow)
