# Lists the targets.
help:
	@awk '/^# /{text = substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-8s %s\n", $$1, text}' Makefile

# Runs the tests. More packages at once than processors: many tests sleep.
test:
	@$(tell) scripts/together $(addprefix -but ,$(slow)) go test -v $(flags) -vet=off -p 4

# Shows of the output what go test shows without -v, and which tests were skipped; with
# flags=-v, all of it.
tell = $(if $(filter -v,$(flags)),,$(CURDIR)/scripts/tell)

# The modules with the most libraries of their own: other caches, Prometheus, MongoDB, those of
# compilers and of Markdown.
slow = proof/alerts bench near/gozero cmd/pinwheel-vet cmd/pinwheel-move docs/site

# Runs the tests with the race detector, in any order.
race:
	@$(tell) scripts/together $(addprefix -but ,$(raceless)) go test -v $(flags) -vet=off -race -shuffle on -count 1 -p 4 -skip '^Test($(alone))$$'

# Compiling for the race detector takes longer than the tests. So race leaves out what
# measures, what starts other programs and has nothing concurrent of its own, and tests that
# compute for long in one goroutine. The tests of suites have the race detector by themselves.
raceless = bench docs/site cmd/pinwheel-vet cmd/pinwheel-move examples/snippets proof/alerts proof/release proof/mutation proof/suites proof/typecheck
alone = AllInterleavings|InterleavingsShowFlaws|FreshModule|PageInABrowser|SampleAgainstAll|Advice.*|WhatTTLsCost|SizeOf

# Runs what takes longer, and the modules that test leaves out. With -j 3 -O three at a time, the longest first.
long: suites $(slow) faults release lincheck scrape

# Runs random histories against a model.
lincheck:
	cd proof && $(tell) go test -v $(flags) ./lincheck -run Pinwheel -lincheck.for 40s

# Builds what users would get, with a service of go-zero.
release:
	cd proof && $(tell) go test -v $(flags) ./release -release.gozero -timeout 20m

# Has more faults of Redis and the network.
faults:
	cd proof && $(tell) go test -v $(flags) ./redis -redis.rounds 3

# Runs other libraries' tests, with the race detector.
suites:
	cd proof && $(tell) go test -v $(flags) -race ./suites -suites.long

# Asks a thousand caches for their statistics.
scrape:
	cd bench && $(tell) go test -v $(flags) ./scrape

$(slow):
	cd $@ && $(tell) go test -v $(flags) ./...

# Makes one site of all pages, with a search that needs no server, in dist/site.
site:
	cd docs/site && go run .

.PHONY: help test race long lincheck release faults suites scrape site $(slow)
