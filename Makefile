# Lists the targets.
help:
	@awk '/^# /{text = substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-8s %s\n", $$1, text}' Makefile

# Runs the tests of all modules.
test:
	@scripts/each go test -vet=off ./...

# Runs what takes longer: random histories, other libraries' suites, a release with go-zero.
long:
	cd proof && go test ./lincheck -run Pinwheel -lincheck.for 40s
	cd proof && go test ./release -release.gozero
	cd proof/suites && go test . -suites.long

.PHONY: help test long
