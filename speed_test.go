package pinwheel_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestNoTestDemandsSpeed looks in the tests of all modules for what a slow machine breaks: a
// time-out below a minute, and a limit for the time that something took. What runs in a
// bubble of testing/synctest has fake time; where that cannot be seen, or where the time is
// the subject, a comment behind it says so: "// fake time" or "// real time: the reason".
//
// Catches: a test that fails because the machine is busy.
func TestNoTestDemandsSpeed(t *testing.T) {
	walkFiles(t, "_test.go", func(path string, text []byte) {
		if strings.HasPrefix(path, "bench/") {
			return // it measures
		}
		for _, problem := range demands(t, path, string(text)) {
			t.Error(problem)
		}
	})
}

// Catches: a check that finds nothing wrong whatever it is given.
func TestDemandsAreReallyFound(t *testing.T) {
	for statement, want := range map[string]bool{
		`<-time.After(5 * time.Second)`:                                         true,
		`<-time.After(time.Second / 2)`:                                         true,
		`<-time.After(time.Minute)`:                                             false,
		`<-time.After(90 * time.Second)`:                                        false,
		`<-time.After(d)`:                                                       false, // a name, such as patience
		`<-time.After(time.Second) // real time: it is the subject`:             false,
		`ctx, cancel := context.WithTimeout(ctx, time.Second)`:                  true,
		`end := time.Now().Add(30 * time.Second)`:                               true,
		`end := start.Add(30 * time.Second)`:                                    false,
		`if time.Since(begin) > limit { t.Error() }`:                            true,
		`if took := time.Since(begin); took > limit { t.Error() }`:              true,
		`if took := time.Since(begin); took < limit { t.Error("too early") }`:   false,
		`synctest.Test(t, func(t *testing.T) { <-time.After(time.Second) })`:    false,
		`harness.Bubble(t, "", func(t *testing.T) { time.After(time.Second) })`: false,
	} {
		got := demands(t, "a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n"+statement+"\n}\n")
		if len(got) > 0 != want {
			t.Errorf("%s: found %q, want some: %t", statement, got, want)
		}
	}
}

// demands returns what a file of tests demands of the speed of the machine.
func demands(t *testing.T, path, text string) (found []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	must(t, err)
	lines := strings.Split(text, "\n")
	report := func(n ast.Node, what string) {
		at := files.Position(n.Pos()).Line
		if line := lines[at-1]; !strings.Contains(line, "// real time: ") && !strings.Contains(line, "// fake time") {
			found = append(found, fmt.Sprintf("%s:%d: %s", path, at, what))
		}
	}
	took := map[string]bool{} // variables for the time that something took
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) == 1 && called(n.Rhs[0]) == "time.Since" {
				took[fmt.Sprint(n.Lhs[0])] = true
			}
		case *ast.CallExpr:
			switch name := called(n); {
			case name == "synctest.Test", strings.HasSuffix(name, "Bubble"):
				return false
			case name == "time.After", name == "context.WithTimeout", name == "time.Now().Add":
				if d, ok := duration(n.Args[len(n.Args)-1]); ok && 0 < d && d < time.Minute {
					report(n, fmt.Sprintf("%s has %v, want at least a minute", name, d))
				}
			}
		case *ast.BinaryExpr:
			if (n.Op == token.GTR || n.Op == token.GEQ) && (called(n.X) == "time.Since" || took[fmt.Sprint(n.X)]) {
				if d, ok := duration(n.Y); !ok || d < time.Minute {
					report(n, "a limit for the time that something took")
				}
			}
		}
		return true
	})
	return found
}

// called returns the name of the function that an expression calls, or "".
func called(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if of := called(f.X); of != "" {
			return of + "()." + f.Sel.Name
		}
		return fmt.Sprint(f.X) + "." + f.Sel.Name
	}
	return ""
}

// duration returns the value of an expression of numbers and units, such as 5*time.Second.
// patience is the name of the bound for what must happen, a minute or more.
func duration(e ast.Expr) (time.Duration, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		return time.Minute, e.Name == "patience"
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		return time.Duration(n), err == nil
	case *ast.SelectorExpr:
		unit, ok := map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
			"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}[e.Sel.Name]
		return unit, ok && fmt.Sprint(e.X) == "time"
	case *ast.BinaryExpr:
		x, ok := duration(e.X)
		y, also := duration(e.Y)
		switch {
		case !ok || !also:
		case e.Op == token.MUL:
			return x * y, true
		case e.Op == token.QUO && y != 0:
			return x / y, true
		}
	}
	return 0, false
}
