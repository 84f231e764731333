# Lists the targets.
help:
	@awk '/^# /{text = substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-8s %s\n", $$1, text}' Makefile

# Runs the tests. More packages at once than processors: many tests sleep.
test:
	@scripts/together $(addprefix -but ,$(slow)) go test $(flags) -vet=off -p 4

# The modules with the most libraries of their own: other caches, Prometheus, MongoDB.
slow = proof/alerts bench bench/near near/gozero

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

.PHONY: help test long lincheck release faults suites scrape $(slow)
