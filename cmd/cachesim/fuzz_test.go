package main

import (
	"slices"
	"strings"
	"testing"
)

// Any line gives an error or an access, never a panic.
func FuzzLines(f *testing.F) {
	f.Add("a,1700000000,512,10m\n\"b \"\"x\"\"\",2026-11-22T03:14:34Z,-,\n")
	f.Add(`{"key": "a", "time": 1.5, "size": 3, "ttl": "1h"}` + "\n" + `{"key": {"deep": []}}`)
	f.Add(`1.2.3.4 - - [22/Nov/2026:03:14:34 +0000] "GET /x HTTP/1.1" 200 512`)
	f.Add("key,time,size,ttl\na,b,c,d\n")
	f.Add("\x1f\x8b\x08")
	f.Fuzz(func(t *testing.T, input string) {
		for _, args := range []string{
			"", "-format csv -key 1 -time 2 -size 3 -ttl 4", "-format csv -key key -time time",
			"-format csv -separator space -key 7", "-format json -key key -time time -size size -ttl ttl",
			`-regexp (?P<time>\[.*\])?.*"(?P<key>.*)"(?P<size>.*)`,
		} {
			status, stdout, stderr := cachesim(input, append(strings.Fields(args), "-policies", "min", "-limits", "3")...)
			if status == 0 != (stderr == "") || status == 0 != (stdout != "") || strings.Contains(stdout, "NaN") {
				t.Errorf("%s: status %d\n%s\n%s", args, status, stdout, stderr)
			}
		}
	})
}

// splitCells reverses quoting.
func FuzzCells(f *testing.F) {
	f.Add("a", "b,\"c", "")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		want := []string{a, b, c}
		var quoted []string
		for _, cell := range want {
			quoted = append(quoted, `"`+strings.ReplaceAll(cell, `"`, `""`)+`"`)
		}
		line := strings.Join(quoted, ",")
		got := splitCells(nil, []byte(line), ',')
		if !slices.EqualFunc(got, want, func(got []byte, want string) bool { return string(got) == want }) {
			t.Errorf("%s has the cells %q, want %q", line, got, want)
		}
	})
}
