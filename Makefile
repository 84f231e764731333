# Lists the targets.
help:
	@awk '/^# /{text = substr($$0, 3)} /^[a-z]+:/{sub(":.*", ""); printf "make %-8s %s\n", $$1, text}' Makefile

# Runs the tests of all modules.
test:
	@scripts/each go test -vet=off ./...

# Runs those for longer that look for luck: random histories, and other libraries' suites.
long:
	cd proof && go test ./lincheck -run Pinwheel -lincheck.for 40s
	cd proof/suites && go test . -suites.long

.PHONY: help test long
