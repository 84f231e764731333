package migration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinwheel-cache/pinwheel/bench/migration/testdata/after"
	"github.com/pinwheel-cache/pinwheel/bench/migration/testdata/before"
)

// A trace is what the steps of a pair returned, a line for each.
type trace struct{ lines []string }

func (tr *trace) add(results ...any) { tr.lines = append(tr.lines, fmt.Sprintln(results...)) }

// same runs the same steps with the code before and after, and fails if the results differ,
// or if there are not n of them, so that steps that do nothing fail.
func same[T any](t *testing.T, n int, before, after T, steps func(T, *trace)) {
	t.Helper()
	var was, is trace
	steps(before, &was)
	steps(after, &is)
	if !slices.Equal(was.lines, is.lines) {
		t.Errorf("before: %q\nafter:  %q", was.lines, is.lines)
	}
	if len(was.lines) != n {
		t.Errorf("%d results, want %d: %q", len(was.lines), n, was.lines)
	}
}

// must returns the value of a constructor that may fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestMapPair(t *testing.T) {
	type names interface {
		Name(id int64) (string, error)
		Forget(id int64)
	}
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		load := func(id int64) (string, error) {
			loads++
			if id < 0 {
				return "", errors.New("no such user")
			}
			return fmt.Sprintf("user %d, load %d", id, loads), nil
		}
		steps := func(n names, tr *trace) {
			loads = 0
			tr.add(n.Name(1))
			tr.add(n.Name(1))
			tr.add(n.Name(-1))
			tr.add(n.Name(-1)) // an error is not stored
			n.Forget(1)
			tr.add(n.Name(1))
			time.Sleep(time.Hour - 1)
			tr.add(n.Name(1))
			time.Sleep(time.Nanosecond)
			tr.add(n.Name(1)) // its hour has passed
		}
		same[names](t, 7, before.NewNames(load), after.NewNames(load), steps)
	})
}

func TestSyncMapPair(t *testing.T) {
	type visits interface {
		Add(client string) int
		Reset(client string) (int, bool)
		Total() int
	}
	steps := func(v visits, tr *trace) {
		tr.add(v.Add("a"), v.Add("a"), v.Add("b"))
		tr.add(v.Total())
		tr.add(v.Reset("a"))
		tr.add(v.Reset("a"))
		tr.add(v.Total(), v.Add("a"))
	}
	same[visits](t, 5, new(before.Visits), after.NewVisits(), steps)
}

func TestGoZeroPair(t *testing.T) {
	type tokens interface {
		Token(app string) (string, error)
		Revoke(app string)
	}
	fetches := 0
	fetch := func(app string) (string, error) {
		fetches++
		if app == "" {
			return "", errors.New("no app")
		}
		return fmt.Sprintf("token %d of %s", fetches, app), nil
	}
	steps := func(k tokens, tr *trace) {
		fetches = 0
		tr.add(k.Token("a"))
		tr.add(k.Token("a"))
		tr.add(k.Token(""))
		k.Revoke("a")
		tr.add(k.Token("a"))
	}
	same[tokens](t, 4, must(before.NewTokens(fetch)), must(after.NewTokens(fetch)), steps)
}

func TestGoCachePair(t *testing.T) {
	type logins interface {
		Failed(user string) int
		Blocked(user string) bool
		Forgive(user string)
	}
	forgiven := make(chan string)
	forgive := func(user string, failed int) {
		forgiven <- fmt.Sprintf("%s after %d", user, failed)
	}
	steps := func(l logins, tr *trace) {
		tr.add(l.Failed("ann"), l.Failed("ann"), l.Blocked("ann"))
		tr.add(l.Failed("ann"), l.Blocked("ann"), l.Blocked("bob"))
		go l.Forgive("ann") // with go-cache it waits for the callback
		tr.add(<-forgiven)
		tr.add(l.Blocked("ann"), l.Failed("ann"))
	}
	same[logins](t, 4, before.NewLogins(forgive), after.NewLogins(forgive), steps)
}

// A conn reports when it is closed.
type conn struct {
	addr   string
	closed chan<- string
}

func (c conn) Close() error {
	c.closed <- c.addr
	return nil
}

func TestLRUPair(t *testing.T) {
	type conns interface {
		Conn(addr string) (io.Closer, error)
		Drop(addr string) bool
		Shutdown()
	}
	closed := make(chan string, 100)
	dials := 0
	dial := func(addr string) (io.Closer, error) {
		dials++
		if addr == "down" {
			return nil, errors.New("connection refused")
		}
		return conn{addr, closed}, nil
	}
	steps := func(c conns, tr *trace) {
		dials = 0
		for i := range 65 {
			must(c.Conn(fmt.Sprint("host ", i)))
		}
		tr.add(<-closed) // the first one, which was not used again
		must(c.Conn("host 64"))
		tr.add(dials)
		_, err := c.Conn("down")
		tr.add(err)
		tr.add(c.Drop("host 7"), <-closed, c.Drop("host 7"))
		c.Shutdown()
		tr.add(len(closed)) // both wait until all are closed
		for len(closed) > 0 {
			<-closed
		}
	}
	same[conns](t, 5, must(before.NewConns(dial)), must(after.NewConns(dial)), steps)
}

func TestExpirablePair(t *testing.T) {
	type rates interface {
		Quote(pair string, rate float64)
		Rate(pair string) (float64, bool)
		Known() []string
	}
	steps := func(r rates, tr *trace) {
		for i := range 501 {
			r.Quote(fmt.Sprintf("%03d", i), float64(i))
		}
		tr.add(r.Rate("000")) // evicted
		tr.add(r.Rate("001"))
		r.Quote("001", 0.5)
		tr.add(r.Rate("001"))
		tr.add(slices.Sorted(slices.Values(r.Known())))
	}
	same[rates](t, 4, before.NewRates(), after.NewRates(), steps)
}

func TestRistrettoPair(t *testing.T) {
	type assets interface {
		Put(path string, body []byte)
		Asset(path string) ([]byte, bool)
		Remove(path string)
		HitRatio() float64
		Close()
	}
	synctest.Test(t, func(t *testing.T) {
		steps := func(a assets, tr *trace) {
			a.Put("/", []byte("one"))
			tr.add(a.Asset("/"))
			a.Put("/", []byte("two"))
			tr.add(a.Asset("/"))
			a.Put("/huge", make([]byte, 64<<20+1)) // too heavy for both
			tr.add(a.Asset("/huge"))
			a.Remove("/")
			tr.add(a.Asset("/"))
			tr.add(a.HitRatio())
			a.Put("/late", []byte("three"))
			time.Sleep(time.Hour + 1)
			tr.add(a.Asset("/late"))
			a.Close()
			a.Put("/", []byte("four"))
			tr.add(a.Asset("/")) // closed, and still to be used
		}
		same[assets](t, 7, must(before.NewAssets()), must(after.NewAssets()), steps)
	})
}

func TestOtterPair(t *testing.T) {
	type products interface {
		Product(ctx context.Context, id int64) (string, error)
		Lend(id int64, name string, d time.Duration)
		Drop(id int64) (string, bool)
	}
	loads := 0
	load := func(_ context.Context, id int64) (string, error) {
		loads++
		if id < 0 {
			return "", errors.New("no such product")
		}
		return fmt.Sprintf("product %d, load %d", id, loads), nil
	}
	steps := func(p products, tr *trace) {
		ctx := t.Context()
		loads = 0
		tr.add(p.Product(ctx, 1))
		tr.add(p.Product(ctx, 1))
		tr.add(p.Product(ctx, -1))
		p.Lend(1, "lent", time.Minute)
		tr.add(p.Product(ctx, 1))
		tr.add(p.Drop(1))
		tr.add(p.Drop(1))
		tr.add(p.Product(ctx, 1))
	}
	same[products](t, 7, must(before.NewProducts(load)), must(after.NewProducts(load)), steps)
}

func TestSturdycPair(t *testing.T) {
	type articles interface {
		Article(ctx context.Context, id int64) (string, error)
		Articles(ctx context.Context, ids []int64) (map[int64]string, error)
	}
	loads := 0
	text := func(id string) string { loads++; return "article " + id }
	sturdycLoad := func(_ context.Context, id string) (string, error) {
		if id == "3" {
			return "", before.ErrNoArticle
		}
		return text(id), nil
	}
	load := func(ctx context.Context, id int64) (string, error) {
		got, err := sturdycLoad(ctx, fmt.Sprint(id))
		if err != nil {
			err = after.ErrNoArticle
		}
		return got, err
	}
	sturdycAll := func(_ context.Context, ids []string) (map[string]string, error) {
		texts := make(map[string]string)
		for _, id := range ids {
			if id != "3" && id != "4" {
				texts[id] = text(id)
			}
		}
		return texts, nil
	}
	all := func(_ context.Context, ids []int64) (map[int64]string, error) {
		texts := make(map[int64]string)
		for _, id := range ids {
			if id != 3 && id != 4 {
				texts[id] = text(fmt.Sprint(id))
			}
		}
		return texts, nil
	}
	steps := func(a articles, tr *trace) {
		ctx := t.Context()
		loads = 0
		tr.add(a.Article(ctx, 1))
		tr.add(a.Article(ctx, 1))
		tr.add(a.Article(ctx, 3))
		tr.add(a.Article(ctx, 3))
		tr.add(a.Articles(ctx, []int64{1, 2, 3, 4}))
		tr.add(a.Articles(ctx, []int64{1, 2}))
		tr.add(loads)
	}
	same[articles](t, 7, must(before.NewArticles(sturdycLoad, sturdycAll)), must(after.NewArticles(load, all)), steps)
}

func TestTTLCachePair(t *testing.T) {
	type sessions interface {
		LogIn(token, user string)
		User(token string) (string, bool)
		LogOut(token string) (string, bool)
		Close()
	}
	synctest.Test(t, func(t *testing.T) {
		var expired []string
		end := func(user string) { expired = append(expired, user) }
		steps := func(s sessions, tr *trace) {
			defer s.Close()
			expired = nil
			s.LogIn("a", "ann")
			s.LogIn("b", "bob")
			time.Sleep(19 * time.Minute)
			tr.add(s.User("a"))
			time.Sleep(2 * time.Minute)
			tr.add(s.User("a")) // last read two minutes ago
			tr.add(s.User("b"))
			tr.add(s.LogOut("a"))
			tr.add(s.LogOut("a"))
			time.Sleep(time.Hour)
			synctest.Wait()
			tr.add(expired) // without those who logged out
		}
		same[sessions](t, 6, before.NewSessions(end), after.NewSessions(end), steps)
	})
}

func TestSingleflightPair(t *testing.T) {
	type users interface {
		User(ctx context.Context, id string) (string, error)
		Forget(id string)
	}
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		load := func(ctx context.Context, id string) (string, error) {
			loads++
			time.Sleep(time.Second)
			if id == "" {
				return "", errors.New("no such user")
			}
			return fmt.Sprintf("user %s, load %d", id, loads), ctx.Err()
		}
		steps := func(u users, tr *trace) {
			loads = 0
			// The first caller leaves before the answer comes; another one gets it.
			first, leave := context.WithTimeout(t.Context(), time.Second/2)
			defer leave()
			left := make(chan error, 1)
			go func() { _, err := u.User(first, "a"); left <- err }()
			synctest.Wait()
			tr.add(u.User(t.Context(), "a"))
			tr.add(<-left)
			tr.add(u.User(t.Context(), "a"))
			tr.add(u.User(t.Context(), ""))
			u.Forget("a")
			tr.add(u.User(t.Context(), "a"))
		}
		same[users](t, 5, before.NewUsers(load), after.NewUsers(load), steps)
	})
}
