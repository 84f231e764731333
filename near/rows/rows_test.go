package rows_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pinwheel-cache/pinwheel/near/rows"
)

func named(name string) error {
	if name == "" {
		return errors.New("an empty name")
	}
	return nil
}

// Catches: a table that is wrong and that is taken, and one problem of two that is not told.
func TestCheck(t *testing.T) {
	if _, err := rows.Check(nil, "public", named); err == nil || !strings.Contains(err.Error(), "no tables") {
		t.Error(err)
	}
	for want, table := range map[string]rows.Table{
		`table "": an empty name`:             {Keys: []string{"{id}"}},
		`table ".t": an empty name`:           {Name: ".t", Keys: []string{"{id}"}},
		`table "t": no Keys`:                  {Name: "t"},
		`key "": it is empty`:                 {Name: "t", Keys: []string{""}},
		`key "a{id": a "{" without "}"`:       {Name: "t", Keys: []string{"a{id"}},
		`key "a{{id}}": a "{" without "}"`:    {Name: "t", Keys: []string{"a{{id}}"}},
		`key "id}": a "}" without "{"`:        {Name: "t", Keys: []string{"id}"}},
		`key "{}": an empty name`:             {Name: "t", Keys: []string{"{}"}},
		`table "public.u": it is there twice`: {Name: "public.u", Keys: []string{"{id}"}},
	} {
		_, err := rows.Check([]rows.Table{{Name: "u", Keys: []string{"x"}}, table}, "public", named)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	_, err := rows.Check([]rows.Table{{Name: "a"}, {Name: "b"}}, "public", named)
	if err == nil || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("%v, want both", err)
	}
}

// Catches: a key that nobody tells of and that is kept, and one that is told of and is not.
func TestCovers(t *testing.T) {
	checked, err := rows.Check([]rows.Table{{Name: "pairs", Keys: []string{"pair:{a}-{b}:x", "all pairs"}}}, "public", named)
	if err != nil {
		t.Fatal(err)
	}
	pairs := checked[0]
	for key, want := range map[string]bool{"pair:1-2:x": true, "pair:-:x": true, "all pairs": true, "pair:1-2": false, "pair:12:x": false, "all pairs!": false, "": false, "pair:1-2:xy": false} {
		if got := pairs.Covers(key); got != want {
			t.Errorf("Covers(%q) = %t", key, got)
		}
	}
	for prefix, want := range map[string]bool{"": true, "pa": true, "pair:": true, "pair:7-": true, "all": true, "all pairs:": false, "user:": false} {
		if got := pairs.CoversPrefix(prefix); got != want {
			t.Errorf("CoversPrefix(%q) = %t", prefix, got)
		}
	}
}

func ExampleCheck() {
	checked, err := rows.Check([]rows.Table{{Name: "users", Keys: []string{"user:{id}", "user:email:{email}"}}}, "public", named)
	if err != nil {
		fmt.Println(err)
		return
	}
	users := checked[0]
	fmt.Println(users.Full(), users.Columns())
	fmt.Println(users.Keys[1].With([]string{"ann@x"}), users.Covers("user:7"), users.Covers("order:7"))
	// Output:
	// public.users [id email]
	// user:email:ann@x true false
}
