// Package neartest proves sources of changes: a fleet of instances reads through caches over a
// source, while others write past them and everything that can fail does. An oracle knows when
// each version was acknowledged, and says how old each answer was.
//
// A [Truth] is what the test of a source brings: how a row is read, and how somebody writes it who
// has no line of this library. [Fleet.Run] does the rest, and [Fleet.Verdict] fails the test if one
// answer was older than MaxLag, or if there was too little to tell. A [Proxy] between the source
// and its server causes faults of the network.
//
// A check that cannot fail proves nothing. So a test also gives the oracle sources that break
// one promise each ([Drop], [Ahead]) and naive designs of its own, and wants [Fleet.Stale]
// answers found.
package neartest
