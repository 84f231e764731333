// Package gozero connects a cache with a go-zero service: settings in the service's
// YAML, a cache that is closed when the service ends, go-zero's minute line in the
// log, the statistics as routes of the rest server, and metrics on the DevServer.
//
//	type Config struct {
//		rest.RestConf
//		Users gozero.Conf
//	}
//
//	var c Config
//	conf.MustLoad(*configFile, &c)
//	users := gozero.MustNewCache[int64, *User](c.Users)
//
//	server := rest.MustNewServer(c.RestConf)
//	server.AddRoutes(gozero.Routes(), rest.WithPrefix("/cache"))
//	gozero.MustRegister()
//	server.Start()
//
// It works with go-zero v1.7.0 and later, and is tested with that and the newest.
//
// The cache itself is that of package cache. Package gozero/collection is separate: it
// has go-zero's collection.Cache and collection.TimingWheel, for programs that were
// written for those. [LogStats] covers all caches of the process, and [Routes] and
// [MustRegister] also all timing wheels, however they were made.
//
// # The end of the service
//
// At SIGTERM and SIGINT go-zero calls the wrap-up listeners, and a second later, or
// what Shutdown.WrapUpTime says, all shutdown listeners at the same time. One of
// them stops the server, and one closes the caches that were made by this package.
// So a request that is still running may find its cache closed: it works, but is
// empty and calls fetch for each caller. OnRemove gets the entries that were in the
// cache, as Cleared.
//
// A cache with a Snapshot is saved first, which takes at most 3 seconds, and then
// closed. What a request changes meanwhile may be in the file as it was before.
//
// The server's Start returns when all shutdown listeners have ended. By then the loads
// and callbacks of the caches have ended too, so main can close what they use, such as
// the database, after Start. The listener waits at most 4 seconds for the caches, and
// logs those that take longer: go-zero kills the process 5.5 s after the signal, or
// after Shutdown.WaitTime.
//
// # Tests
//
// Importing go-zero installs signal handlers and starts goroutines, and importing
// this package adds the shutdown listener. A cache made in a bubble of
// testing/synctest works, but the minute line may end with the bubble, if the timer
// was made there.
package gozero
