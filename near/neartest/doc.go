// Package neartest proves a store and a source of package near, as testing/fstest does a file system. [Test] has a
// subtest for each promise of near.Store, near.Leaser, near.Fleet and near.Source: against the real thing, in real time,
// with waits of minutes for what must happen and no demand on speed.
//
// Its parts also serve alone. A [Recorder] is a watcher that keeps what it is told, and checks that. An [Oracle] knows
// which version of each key is current, and judges what was read. [Traffic] reads and writes by the caches of a fleet,
// and has an Oracle judge each answer. A [Proxy] stands before a server, and breaks connections as networks do.
//
// A subtest that needs what a subject does not have says so in its log, and proves nothing. Not tested are what a
// near.Coverer does when it stops telling of keys, and near.Except.
package neartest
