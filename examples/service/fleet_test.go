//go:build unix

package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pinwheel-cache/pinwheel/cache"
	"github.com/pinwheel-cache/pinwheel/stats"
)

// TestFleetInABrowser has the page show two running services beside this process, whose cache
// hits nothing, and an instance that nobody serves.
func TestFleetInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and starts a browser")
	}
	chromium := findChromium(t)
	peers := []string{"http://" + closedAddress(t) + "/cache/"}
	for range 2 {
		service := launch(t, built(t), "-port", "0", "-db", filepath.Join(t.TempDir(), "users.db"), "-load", "300/s")
		peers = append(peers, service.url()+"/cache/")
	}
	sick := cache.Must(cache.Options[int, int]{Name: "users", Limit: 1000})
	defer sick.Close(t.Context())
	page := httptest.NewServer(stats.Handler(stats.WithFleet(peers...)))
	defer page.Close()
	defer http.DefaultClient.CloseIdleConnections()

	b := openBrowser(t, chromium)
	b.look(1280, "light")
	b.do("the overview", chromedp.Navigate(page.URL+"/"), chromedp.WaitVisible(`#fleet`))
	b.do("the fleet", chromedp.Click(`#fleet`), chromedp.WaitVisible(`table[aria-label="caches by instance"] tbody tr`))
	port := page.Listener.Addr().(*net.TCPAddr).Port
	for key := range 500 {
		sick.Get(-1 - key)
	}
	const rows = `[...document.querySelectorAll('table[aria-label="caches by instance"] tbody tr')]`
	b.until("all instances are there", `document.querySelectorAll('table[aria-label="instances"] tbody tr').length === 4`)
	b.until("one is away", `document.querySelector('table[aria-label="instances"] .bad').textContent.includes('away: ')`)
	b.until("three have users", rows+`.filter((row) => row.querySelector('[data-field=name]').textContent === 'users').length === 3`)
	b.until("the sick one is first", rows+`[0].textContent.includes('users') && `+rows+`[0].children[1].textContent.includes(':`+strconv.Itoa(port)+`differs: hit ratio')`)
	b.until("the tab says which", `/^Fleet – .*:`+strconv.Itoa(port)+` – pinwheel$/.test(document.title)`)
	b.picture("fleet")
	b.look(1280, "dark")
	b.picture("fleet-dark")
	b.look(390, "light")
	b.until("it fits on a phone", `document.documentElement.scrollWidth <= 390`)
	b.picture("fleet-phone")
	b.visit("#/cache/users", `figure[data-chart="hit-ratio"]`)
	b.until("the tab says what and which", `/^users – .*:`+strconv.Itoa(port)+` – pinwheel$/.test(document.title)`)
}

// closedAddress returns an address that nobody serves.
func closedAddress(t *testing.T) string {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	return at.Addr().String()
}
