# Lists the targets.
help:
	@awk '/^# /{text = substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-8s %s\n", $$1, text}' Makefile

# Runs the tests. More packages at once than processors: many tests sleep.
test:
	@scripts/each -but proof/alerts go test -vet=off -p 4 ./...

# Runs what takes longer: random histories, other suites, a release with go-zero, more faults of Redis, alerts.
long:
	cd proof && go test ./lincheck -run Pinwheel -lincheck.for 40s
	cd proof && go test ./release -release.gozero
	cd proof && go test ./redis -redis.rounds 3
	cd proof/suites && go test -race . -suites.long
	cd proof/alerts && go test ./...

.PHONY: help test long
