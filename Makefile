# Lists the targets.
help:
	@awk '/^# /{text = substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-8s %s\n", $$1, text}' Makefile

# Runs the tests. More packages at once than processors: many tests sleep.
test:
	@scripts/together $(addprefix -but ,$(slow)) go test -vet=off -p 4

# The modules with the most libraries of their own: other caches, Prometheus, MongoDB.
slow = proof/alerts bench bench/near near/gozero

# Runs what takes longer: random histories, other suites, a release with go-zero, more faults of Redis, modules that are slow to compile.
long:
	cd proof && go test ./lincheck -run Pinwheel -lincheck.for 40s
	cd proof && go test ./release -release.gozero
	cd proof && go test ./redis -redis.rounds 3
	cd proof/suites && go test -race . -suites.long
	cd bench && go test ./scrape
	for module in $(slow); do (cd $$module && go test ./...) || exit 1; done

.PHONY: help test long
