// Package page opens the page of package stats in Chromium.
package page

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/internal/settle"
	"github.com/pinwheel-cache/pinwheel/stats"
	"github.com/pinwheel-cache/pinwheel/timingwheel"
)

// A service has caches of users and sessions and a wheel of reminders, all in use, and shows
// their statistics.
type service struct {
	url  string
	stop func()
}

// serve starts a service whose cache of users has the options o and loads by load.
func serve(t *testing.T, o cache.Options[int64, string], load func(context.Context, int64) (string, error)) *service {
	t.Helper()
	o.Name = "users"
	if o.Expire == 0 {
		o.Expire = 5 * time.Minute
	}
	users := cache.Must(o)
	sessions := cache.Must(cache.Options[string, int]{Name: "sessions", Expire: 30 * time.Second, OnRemove: func(cache.Event[string, int]) {}})
	reminders, err := timingwheel.New(time.Second, 60, func(string, string) {}, timingwheel.WithName("reminders"))
	settle.Must(t, err)
	settle.Must(t, reminders.SetTimer("me", "tea", time.Hour))
	if o.Grace > 0 { // what was never loaded has no value that could stand in
		for id := range int64(mostUsers) {
			users.Set(id, "user")
		}
	}
	web := http.NewServeMux()
	web.Handle("/cache/", stats.Handler(stats.WithOperators(func(*http.Request) error { return nil })))
	server := httptest.NewServer(web)
	ctx, end := context.WithCancel(context.Background())
	var using sync.WaitGroup
	for range 4 {
		using.Go(func() {
			zipf := rand.NewZipf(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())), 1.1, 1, mostUsers-1)
			for n := 0; ctx.Err() == nil; n++ {
				id := int64(zipf.Uint64())
				_, _ = users.TakeCtx(ctx, id, func(ctx context.Context) (string, error) { return load(ctx, id) })
				sessions.Set(fmt.Sprint("session ", n%10), n)
				sessions.Del(fmt.Sprint("session ", n%20))
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	stop := sync.OnceFunc(func() {
		end()
		using.Wait()
		server.CloseClientConnections()
		server.Close()
		ctx := context.Background()
		if err := errors.Join(users.Close(ctx), sessions.Close(ctx)); err != nil {
			t.Errorf("closing the caches: %v", err)
		}
		reminders.Stop()
	})
	t.Cleanup(stop)
	return &service{url: server.URL, stop: stop}
}

// mostUsers is the number of users that the service is asked for.
const mostUsers = 10_000

// TestPageInABrowser opens the statistics of caches under load in Chromium.
func TestPageInABrowser(t *testing.T) {
	service := serve(t, cache.Options[int64, string]{Limit: 1000, Jitter: 0.05, WhatIf: true, HotKeys: 10, Ages: true}, func(_ context.Context, id int64) (string, error) {
		return fmt.Sprint("user ", id), nil
	})
	b := openBrowser(t)
	page := service.url + "/cache" // leads to /cache/

	b.do("the overview", chromedp.Navigate(page), chromedp.WaitVisible(`tr[data-name="users"]`))
	b.until("the numbers move", `numberOf('tr[data-name="users"] [data-field="windows.10s.gets_per_second"]') > 10`)
	b.run("equal to the JSON", func() {
		b.equal("overview", 10)
		b.visit("#/cache/users", `figure[data-chart="hit-ratio"]`)
		b.until("the hits grow", `(window.first ??= numberOf('[data-field="windows.5m.hits"]')) < numberOf('[data-field="windows.5m.hits"]')`)
		b.equal("users", 50)
	})
	b.run("words", func() {
		for _, words := range []string{"since ", " on ", "In the last", "99 % within", "requests"} {
			b.until("it says "+words, fmt.Sprintf(`document.body.textContent.includes(%q)`, words))
		}
		b.until("no word of the JSON", `!/p99|Windows 1m|_seconds|In all/i.test(document.querySelector('.cards').textContent)`)
		b.until("settings are there", `['lru', '5.0\u00a0%', '5.00\u00a0min'].join() === ['policy', 'jitter', 'expire_seconds']
			.map((name) => document.querySelector('[data-field="settings.' + name + '"]').textContent).join()`)
		b.until("the hit ratio of a point is of all its gets", `import('./state.js').then(({state}) => [...state.points.caches.values()].flat().every((p) =>
			p.gets === p.hits + p.misses_absent + p.misses_expired + p.misses_evicted))`)
		b.until("nothing partial is drawn", `import('./state.js').then(({state}) => ![...state.points.caches.values()].flat().some((p) => p.partial))`)
		b.until("what is not set is not there", `[...document.querySelectorAll('[data-needs^="settings."]:not([hidden])')]
			.map((row) => row.dataset.needs).sort().join() === 'settings.expire_seconds,settings.jitter,settings.policy'`)
		b.until("a finding is text, and counts in the title", `import('./state.js').then(({state, show}) => {
			const of = (level, ended_seconds = 0) => ({name: 'users', href: '#/cache/users', words: 'It is <b>too</b> small.', since_seconds: 60, ended_seconds, level});
			state.findings = [of('critical'), of('advice'), of('warning', 20)];
			show();
			const items = [...document.querySelectorAll('.findings li')].map((node) => node.className + ': ' + [...node.children].slice(1).map((c) => c.textContent));
			return document.title.startsWith('(1) users') && document.querySelector('.findings h2').textContent === '1 critical, 1 advice, 1 ended' &&
				items.join().replaceAll('\u00a0', ' ') === ['critical: ', 'advice: '].map((level) => level + 'It is <b>too</b> small.,for 60 s').join() + ',ended: It is <b>too</b> small.,ended 20 s ago';
		})`)
		b.until("keys that fail are there by hash", `import('./state.js').then(({state, show}) => {
			state.json.caches.find((c) => c.name === 'users').failing_keys = [{hash: '00ab', key: '', failed: 3, since: state.json.time, type: '*x.Error', text: ''}];
			show();
			return document.querySelector('[data-needs="failing_keys"]:not([hidden]) li')?.textContent.replace('\u00a0', ' ') === '00ab3 in a rowfor 0 s · *x.Error';
		})`)
	})
	b.run("charts", func() {
		for _, chart := range []string{"hit-ratio", "requests", "entries", "removals", "load", "tombstones"} {
			b.until(chart+" has a curve", fmt.Sprintf(`document.querySelector('figure[data-chart="%s"] svg.chart path.line').getAttribute('d') > ''`, chart))
		}
		b.until("a chart without data takes no room", `document.querySelector('figure[data-chart="callbacks"]').hidden`)
		b.do("a cursor by keys", chromedp.Focus(`figure[data-chart="requests"] svg.chart`), chromedp.KeyEvent(kb.Home))
		b.until("all charts have the cursor", `[...document.querySelectorAll('figure:not([hidden]) path.cursor')].every((c) => c.style.display !== 'none')`)
		b.do("no cursor", chromedp.KeyEvent(kb.Escape))
	})
	b.run("near", func() {
		const charts = `const charts = [...document.querySelectorAll('figure[data-chart^="near-"]')];`
		b.until("other caches have no charts of near caches", charts+`charts.length === 4 && charts.every((f) => f.hidden)`)
		b.until("near caches have them", `import('./state.js').then(({state, show}) => {
			const near = {remote_hits: 1, fetches: 2, bypasses: 3, waits: 4, changes: 5, reconnects: 6, lag_seconds: 0.2, max_lag_seconds: 1};
			state.json.caches.find((c) => c.name === 'users').near = near;
			state.points.caches.get('users').forEach((p) => p.near = near);
			show();
			`+charts+`
			return charts.every((f) => !f.hidden && f.querySelector('svg.chart path.line').getAttribute('d') > '');
		})`)
	})
	b.run("pause", func() {
		b.do("key p", chromedp.KeyEvent("p"))
		b.until("it is paused", `document.body.dataset.state === 'paused'`)
		b.do("key p", chromedp.KeyEvent("p"))
		b.until("it goes on", `document.body.dataset.state === 'live' && (window.paused ??= document.body.dataset.updated) < document.body.dataset.updated`)
	})
	b.run("purge", func() {
		b.do("a key that is not there", chromedp.SendKeys(`form [aria-label="Key"]`, "nonsense\r"))
		b.until("it says what is wrong", `document.querySelector('output').textContent.includes('want an int64')`)
	})
	b.run("purge by prefix", func() {
		b.visit("#/cache/sessions", `form [aria-label="Prefix"]`)
		b.do("a prefix that no key has", chromedp.SendKeys(`form [aria-label="Prefix"]`, "nobody"))
		b.until("it says how many", `(window.asked ??= [...document.querySelectorAll('form button')].find((b) => b.textContent === 'Purge by prefix').click() ?? 1) &&
			document.querySelector('output').textContent === 'Removed 0.'`)
	})
	b.run("purge all", func() {
		const sure = `const sure = document.querySelector('form details');`
		b.do("a double click", chromedp.Click(`form summary`), chromedp.DoubleClick(`form summary`)) // the latter is the second click of one
		b.do("Enter that is held", chromedp.Focus(`form summary`), chromedp.KeyEvent("\r\r\r"))
		b.until("it is asked first", sure+`sure.open && document.querySelector('output').textContent === 'Removed 0.'`)
		b.do("sure", chromedp.Click(`form [name="all"]`))
		b.until("all are removed", sure+`/^Removed \d+\.$/.test(document.querySelector('output').textContent) && document.querySelector('output').textContent !== 'Removed 0.' && !sure.open`)
	})
	b.run("order", func() {
		b.visit("#/", `tr[data-name="users"]`)
		const names = `const names = () => [...document.querySelectorAll('[aria-label="caches"] tbody tr')].map((row) => row.dataset.name).join();`
		b.until("by name at first", names+`names() === 'sessions,users'`)
		b.until("no row moves while one has the focus", names+`import('./state.js').then(({state, show}) => {
			document.querySelector('tbody a').focus();
			state.sort.caches.down = true;
			show();
			return names() === 'sessions,users';
		})`)
		b.until("then they do", names+`document.activeElement.blur(); names() === 'users,sessions'`)
		b.until("a click sorts at once", names+`getSelection().selectAllChildren(document.querySelector('tbody')); document.querySelector('thead button').click(); names() === 'sessions,users'`)
		get[string](b, `getSelection().removeAllRanges(); ''`)
	})
	b.run("filter", func() {
		b.visit("#/", `tr[data-name="users"]`)
		b.do("key /", chromedp.KeyEvent("/"))
		b.until("the filter has the focus", `document.activeElement.id === 'filter'`)
		get[string](b, `document.activeElement.value = ''`) // chromedp writes the slash too, other than a keyboard
		b.do("the first of the rest", chromedp.SendKeys("#filter", "us\r"))
		b.until("it is open", `location.hash === '#/cache/users' && document.querySelector('h1').textContent === 'users'`)
		get[string](b, `const box = document.getElementById('filter'); box.value = ''; box.oninput(); ''`)
	})
	b.run("views", func() {
		for _, view := range []struct{ hash, shows, name string }{
			{"#/", `tr[data-name="users"]`, "overview"},
			{"#/cache/users", `figure[data-chart="hit-ratio"]`, "cache"},
			{"#/cache/sessions", `figure[data-chart="removals"]`, "sessions"},
			{"#/wheel/reminders", `figure[data-chart="pending"]`, "wheel"},
			{"#/cache/nobody", `.notice`, "gone"},
		} {
			for _, look := range []struct {
				name, scheme string
				width        int64
			}{{"light", "light", 1400}, {"dark", "dark", 1280}, {"tablet", "light", 1024}, {"phone", "light", 360}} {
				b.look(look.width, look.scheme)
				b.visit(view.hash, view.shows)
				b.until(view.name+" "+look.name+": nothing is wider than the window", `document.documentElement.scrollWidth <= innerWidth`)
				b.picture(view.name + "-" + look.name)
			}
		}
	})
	b.do("back", chromedp.Navigate(page+"/#/"), chromedp.WaitVisible(`tr[data-name="users"]`))
	b.run("misses of every reason", func() {
		get[int](b, `window.answer = fetch; window.fetch = async (...all) => {
			const json = await (await answer(...all)).json();
			const users = json.caches.find((c) => c.name === 'users');
			users.history.forEach((p) => Object.assign(p, {hits: 1, misses_absent: 1, misses_expired: 1, misses_evicted: 1}));
			users.findings = [{cause: 'cleared', words: 'It was cleared.', level: 'critical'}];
			return new Response(JSON.stringify(json));
		}; 0`)
		b.until("a quarter hits", `import('./state.js').then(({state}) => state.points.caches.get('users').some((p) => p.hit_ratio === 0.25))`)
		b.until("a cause stands out", `document.querySelector('tr[data-name="users"] .critical[data-field="findings.0.cause"]')?.textContent === 'cleared'`)
	})
	b.report()
	service.stop()
	b.until("it says that there is no answer", `document.body.dataset.state === 'stale'`)
	b.forget() // a missing answer is an error in the console
}

// TestOutageInABrowser checks the page while the database behind a cache with Grace fails.
func TestOutageInABrowser(t *testing.T) {
	down := errors.New("the database is down")
	service := serve(t, cache.Options[int64, string]{Limit: 2 * mostUsers, Expire: time.Second, Grace: time.Hour}, func(context.Context, int64) (string, error) {
		return "", down
	})
	b := openBrowser(t)
	b.do("the page of the cache", chromedp.Navigate(service.url+"/cache/#/cache/users"), chromedp.WaitVisible(`figure[data-chart="refreshes"]`))
	b.until("values stand in", `numberOf('[data-field="windows.5m.hits_in_grace"]') > 50`)
	b.until("loads fail", `numberOf('[data-field="windows.5m.loads_failed"]') > 0`)
	b.until("users do not notice", `numberOf('[data-field="windows.5m.misses"]') === 0`)
	b.until("the refreshes have curves", `document.querySelector('figure[data-chart="refreshes"] svg.chart path.line').getAttribute('d') > ''`)
	b.picture("outage")
	service.stop()
	b.forget() // a missing answer is an error in the console
}
