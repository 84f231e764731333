// Command service is a go-zero service as its users write them: items of a database
// behind a collection.Cache, and sessions that end when their heartbeats do.
// Command switch builds it a second time with the import of collection changed.
package main

import (
	"errors"
	"flag"
	"net/http"
	"runtime"
	"time"

	"github.com/zeromicro/go-zero/core/collection"
	"github.com/zeromicro/go-zero/core/conf"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/rest"
	"github.com/zeromicro/go-zero/rest/httpx"
)

type cacheConf struct {
	TTL   time.Duration
	Limit int
}

type config struct {
	rest.RestConf
	Items    cacheConf
	Sessions cacheConf
}

var configFile = flag.String("f", "etc/service.yaml", "the config file")

func main() {
	flag.Parse()
	var c config
	conf.MustLoad(*configFile, &c, conf.UseEnv())
	s := &service{
		db:       newDatabase(),
		items:    newCache("items", c.Items),
		sessions: newCache("sessions", c.Sessions),
	}
	server := rest.MustNewServer(c.RestConf)
	defer server.Stop()
	server.AddRoutes([]rest.Route{
		{Method: http.MethodGet, Path: "/items/:id", Handler: s.getItem},
		{Method: http.MethodPut, Path: "/items/:id", Handler: s.putItem},
		{Method: http.MethodDelete, Path: "/items/:id", Handler: s.deleteItem},
		{Method: http.MethodPost, Path: "/sessions/:id/heartbeat", Handler: s.heartbeat},
		{Method: http.MethodGet, Path: "/sessions/:id", Handler: s.getSession},
		{Method: http.MethodGet, Path: "/process", Handler: getProcess},
	})
	server.Start()
}

func newCache(name string, c cacheConf) *collection.Cache {
	cache, err := collection.NewCache(c.TTL, collection.WithName(name), collection.WithLimit(c.Limit))
	logx.Must(err)
	return cache
}

type service struct {
	db              *database
	items, sessions *collection.Cache
}

type itemRequest struct {
	ID string `path:"id"`
}

func (s *service) getItem(w http.ResponseWriter, r *http.Request) {
	var req itemRequest
	if !parsed(w, r, &req) {
		return
	}
	v, err := s.items.Take(req.ID, func() (any, error) {
		return s.db.find(req.ID)
	})
	answerItem(w, r, v, err)
}

func (s *service) putItem(w http.ResponseWriter, r *http.Request) {
	var req itemRequest
	if !parsed(w, r, &req) {
		return
	}
	it := s.db.save(req.ID)
	s.items.Del(req.ID)
	httpx.OkJsonCtx(r.Context(), w, it)
}

func (s *service) deleteItem(w http.ResponseWriter, r *http.Request) {
	var req itemRequest
	if !parsed(w, r, &req) {
		return
	}
	it := s.db.remove(req.ID)
	s.items.Del(req.ID)
	httpx.OkJsonCtx(r.Context(), w, it)
}

// answerItem answers 404 for an item that was deleted, with the version of the
// deletion.
func answerItem(w http.ResponseWriter, r *http.Request, v any, err error) {
	var gone *goneError
	switch {
	case errors.As(err, &gone):
		httpx.WriteJsonCtx(r.Context(), w, http.StatusNotFound, gone.item)
	case err != nil:
		httpx.ErrorCtx(r.Context(), w, err)
	default:
		httpx.OkJsonCtx(r.Context(), w, v)
	}
}

type heartbeatRequest struct {
	ID  string `path:"id"`
	TTL int    `form:"ttl_ms,optional"` // 0: that of the cache
}

type session struct {
	ID string `json:"id"`
}

func (s *service) heartbeat(w http.ResponseWriter, r *http.Request) {
	var req heartbeatRequest
	if !parsed(w, r, &req) {
		return
	}
	if req.TTL == 0 {
		s.sessions.Set(req.ID, session{req.ID})
	} else {
		s.sessions.SetWithExpire(req.ID, session{req.ID}, time.Duration(req.TTL)*time.Millisecond)
	}
	httpx.Ok(w)
}

func (s *service) getSession(w http.ResponseWriter, r *http.Request) {
	var req itemRequest
	if !parsed(w, r, &req) {
		return
	}
	v, ok := s.sessions.Get(req.ID)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	httpx.OkJsonCtx(r.Context(), w, v)
}

// getProcess answers with what only the process itself knows.
func getProcess(w http.ResponseWriter, r *http.Request) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	httpx.OkJsonCtx(r.Context(), w, map[string]uint64{
		"goroutines": uint64(runtime.NumGoroutine()),
		"mallocs":    m.Mallocs,
		"bytes":      m.TotalAlloc,
	})
}

func parsed(w http.ResponseWriter, r *http.Request, req any) bool {
	err := httpx.Parse(r, req)
	if err != nil {
		httpx.ErrorCtx(r.Context(), w, err)
	}
	return err == nil
}
