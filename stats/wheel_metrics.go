package stats

// wheelMetrics is to timing wheels what cacheMetrics is to caches.
var wheelMetrics = named("timingwheel_", "pinwheel.timingwheel.", []Metric[WheelSnapshot]{
	single("pending", "timer.pending", level, "{timer}", "Timers that wait for their time.",
		"pending", "pending", "", func(w *WheelSnapshot) any { return &w.Pending }),
	single("backlog", "timer.backlog", level, "{timer}", "Due timers whose callbacks have not begun yet.",
		"backlog", "backlog", "", func(w *WheelSnapshot) any { return &w.Overdue }),
	single("running", "callback.running", level, "{callback}", "Callbacks running now.",
		"running", "running", "", func(w *WheelSnapshot) any { return &w.Running }),
	onRequest(single("tombstones", "tombstone.count", level, "{task}", "Removed tasks the timing wheel has not reached yet.",
		"tombstones", "tombstones", "", func(w *WheelSnapshot) any { return &w.Tombstones })),
	single("started", "timer.started", counter, "{timer}", "Timers set.",
		"started", "started", "", func(w *WheelSnapshot) any { return &w.Started }),
	onRequest(single("moved", "timer.moved", counter, "{timer}", "Timers that got another time, but for Resets to a later one.",
		"moved", "moved", "", func(w *WheelSnapshot) any { return &w.Moved })),
	onRequest(single("visits", "visit", counter, "{visit}", "Timers and tombstones that the timing wheel has come by.",
		"visits", "visits", "", func(w *WheelSnapshot) any { return &w.Visits })),
	onRequest(single("relinks", "relink", counter, "{timer}", "Timers put into another slot of the timing wheel.",
		"relinks", "relinks", "", func(w *WheelSnapshot) any { return &w.Relinks })),
	single("refused", "timer.refused", counter, "{timer}", "Timers that were not set, as the timing wheel was full.",
		"refused", "refused", "", func(w *WheelSnapshot) any { return &w.Refused }),
	single("removed", "timer.removed", counter, "{timer}", "Timers removed before they fired.",
		"removed", "removed", "", func(w *WheelSnapshot) any { return &w.Removed }),
	single("fired", "timer.fired", counter, "{timer}", "Callbacks begun.",
		"fired", "fired", "", func(w *WheelSnapshot) any { return &w.Fired }),
	single("panics", "callback.panics", counter, "{panic}", "Callbacks that panicked or ended their goroutine.",
		"panics", "panics", "", func(w *WheelSnapshot) any { return &w.Panics }),
	single("lateness_seconds", "lateness", durations, "{timer}", "Time from the tick at which a timer was due to its callback.",
		"", "", "", func(w *WheelSnapshot) any { return &w.Lateness }),
})

// wheelComputed are numbers for JSON that are computed from others.
var wheelComputed = []number[WheelSnapshot]{
	{json: "lateness_p50_seconds", point: "lateness_p50_seconds", says: "Median time from the tick at which a timer was due to its callback, in seconds; 0 if nothing fired. An estimate, at most a factor of two off.",
		of: func(w *WheelSnapshot) any { return p50(w.Lateness.data()) }},
	{json: "lateness_p99_seconds", point: "lateness_p99_seconds", says: "99th percentile of the time from the tick at which a timer was due to its callback, in seconds; 0 if nothing fired. An estimate, at most a factor of two off.",
		of: func(w *WheelSnapshot) any { return p99(w.Lateness.data()) }},
}
