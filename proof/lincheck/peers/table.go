package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// String is the cell of a table.
func (r result) String() string {
	if r.Survey == nil {
		return "–"
	}
	var cell strings.Builder
	if len(r.Found) == 0 {
		cell.WriteString("ok")
	}
	for i, f := range r.Found {
		if i > 0 {
			cell.WriteString("; ")
		}
		fmt.Fprintf(&cell, "%v (%s)", f.Fault, share(f.Histories, r.Report.Histories))
	}
	fmt.Fprintf(&cell, "; %s ops", count(r.Report.Operations))
	if r.Report.Undecided > 0 {
		fmt.Fprintf(&cell, "; %d undecided", r.Report.Undecided)
	}
	return cell.String()
}

// share returns some of all in percent.
func share(some, all int) string {
	percent := 100 * float64(some) / float64(all)
	if percent < 1 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", percent)
}

// count formats a number with k or M.
func count(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// table writes the command, the versions and the results, in Markdown.
func table(w io.Writer, s settings, all []result) error {
	var page strings.Builder
	only := ""
	if expr := s.only.String(); expr != "" {
		only = " -only '" + expr + "'"
	}
	fmt.Fprintf(&page, "`go run ./lincheck/peers -for %v -seed %d%s`, %v, %d threads:", s.length, s.seed, only, runtime.Version(), runtime.GOMAXPROCS(0))
	for _, module := range modules() {
		fmt.Fprintf(&page, " %s", module)
	}
	page.WriteString("\n\n| |")
	for _, sc := range scenarios {
		fmt.Fprintf(&page, " %s |", sc.name)
	}
	page.WriteString("\n|---|" + strings.Repeat("---|", len(scenarios)) + "\n")
	for _, c := range contenders {
		if !s.only.MatchString(c.name) {
			continue
		}
		fmt.Fprintf(&page, "| %s |", c.name)
		for _, r := range all {
			if r.contender == c.name {
				fmt.Fprintf(&page, " %v |", r)
			}
		}
		page.WriteString("\n")
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// modules returns the libraries with their versions.
func modules() []string {
	var paths []string
	for _, c := range contenders {
		if c.module != "" && !slices.Contains(paths, c.module) {
			paths = append(paths, c.module)
		}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var versions []string
	for _, dep := range info.Deps {
		if dep.Replace == nil && slices.Contains(paths, dep.Path) {
			versions = append(versions, dep.Path+" "+dep.Version)
		}
	}
	slices.Sort(versions)
	return versions
}
