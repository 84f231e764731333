package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"

	"github.com/pinwheel-cache/pinwheel/bench/libs"
	"github.com/pinwheel-cache/pinwheel/bench/results"
)

// childArg begins the arguments of a process that does a part of the work. Each group has
// one, so that its memory is free afterwards, and so has each library in each round of a
// special case.
const childArg = "child"

// groupArg marks the process of a group.
const groupArg = "group"

// measureAll measures the selected cases. After a failure it goes on with the next part.
func measureAll(s settings, r *results.Results) error {
	var failed []error
	part := func(args ...string) {
		p, err := inChild(s, args...)
		if err == nil {
			r.Merge(p)
		}
		failed = append(failed, err)
	}
	for i, g := range groups {
		if len(s.jobs(g)) > 0 {
			part(groupArg, strconv.Itoa(i))
		}
	}
	for _, c := range specials {
		if s.cases.MatchString(c.name) {
			eachRound(s, c, part)
		}
	}
	if len(r.Series) == 0 {
		failed = append(failed, fmt.Errorf("nothing was measured: case %q, library %q", s.cases, s.libs))
	}
	return errors.Join(failed...)
}

// eachRound measures a special case: in each round all libraries, in random order.
func eachRound(s settings, c special, part func(args ...string)) {
	rounds := min(s.rounds, c.rounds)
	names := slices.DeleteFunc(s.libraries(), func(l libs.Library) bool { return l.Sole })
	for round := range rounds {
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, l := range names {
			fmt.Fprintf(os.Stderr, "%s: round %d of %d, library %d of %d: %s\n", c.name, round+1, rounds, i+1, len(names), l.Name)
			part(c.name, l.Name)
		}
	}
}

// inChild measures a part in another process.
func inChild(s settings, args ...string) (p results.Part, err error) {
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	cmd := exec.Command(self, slices.Concat([]string{childArg}, args, s.args)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return p, fmt.Errorf("%v: %w", args, err)
	}
	return p, json.Unmarshal(out, &p)
}

// child measures a part in the other process: a group by its number, or a special case with
// a library.
func child(what, which string, s settings) error {
	var p results.Part
	var err error
	if what == groupArg {
		i, convErr := strconv.Atoi(which)
		if convErr != nil || i < 0 || i >= len(groups) {
			return fmt.Errorf("there is no group %q", which)
		}
		p, err = runGroup(groups[i], s)
	} else {
		p, err = runSpecial(what, which, s)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(p)
}

// runSpecial runs a special case with a library.
func runSpecial(name, library string, s settings) (p results.Part, err error) {
	c := slices.IndexFunc(specials, func(c special) bool { return c.name == name })
	l := slices.IndexFunc(libs.All, func(l libs.Library) bool { return l.Name == library })
	if c < 0 || l < 0 {
		return p, fmt.Errorf("there is no case %q or no library %q", name, library)
	}
	figures, err := specials[c].run(libs.All[l], s.short)
	for _, f := range figures {
		p.Add(name, library, f.metric, f.value)
	}
	return p, err
}
