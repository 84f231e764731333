package stats

// wheelMetrics is to timing wheels what cacheMetrics is to caches.
var wheelMetrics = []Metric[WheelSnapshot]{
	{Name: "timingwheel_pending", Path: "pinwheel.timingwheel.timer.pending", Kind: level, Unit: "{timer}",
		Help:    "Timers that wait for their time.",
		numbers: inJSON("pending", func(w *WheelSnapshot) any { return &w.Pending })},
	{Name: "timingwheel_backlog", Path: "pinwheel.timingwheel.timer.backlog", Kind: level, Unit: "{timer}",
		Help:    "Due timers whose callbacks have not begun yet.",
		numbers: inJSON("backlog", func(w *WheelSnapshot) any { return &w.Overdue })},
	{Name: "timingwheel_running", Path: "pinwheel.timingwheel.callback.running", Kind: level, Unit: "{callback}",
		Help:    "Callbacks running now.",
		numbers: inJSON("running", func(w *WheelSnapshot) any { return &w.Running })},
	{Name: "timingwheel_tombstones", Path: "pinwheel.timingwheel.tombstone.count", Kind: level, Unit: "{task}",
		Help:    "Removed tasks the timing wheel has not reached yet.",
		numbers: inJSON("tombstones", func(w *WheelSnapshot) any { return &w.Tombstones })},
	{Name: "timingwheel_started_total", Path: "pinwheel.timingwheel.timer.started", Kind: counter, Unit: "{timer}",
		Help:    "Timers set.",
		numbers: inJSON("started", func(w *WheelSnapshot) any { return &w.Started })},
	{Name: "timingwheel_moved_total", Path: "pinwheel.timingwheel.timer.moved", Kind: counter, Unit: "{timer}",
		Help:    "Timers that got another time, but for Resets to a later one.",
		numbers: inJSON("moved", func(w *WheelSnapshot) any { return &w.Moved })},
	{Name: "timingwheel_visits_total", Path: "pinwheel.timingwheel.visit", Kind: counter, Unit: "{visit}",
		Help:    "Timers and tombstones that the timing wheel has come by.",
		numbers: inJSON("visits", func(w *WheelSnapshot) any { return &w.Visits })},
	{Name: "timingwheel_relinks_total", Path: "pinwheel.timingwheel.relink", Kind: counter, Unit: "{timer}",
		Help:    "Timers put into another slot of the timing wheel.",
		numbers: inJSON("relinks", func(w *WheelSnapshot) any { return &w.Relinks })},
	{Name: "timingwheel_refused_total", Path: "pinwheel.timingwheel.timer.refused", Kind: counter, Unit: "{timer}",
		Help:    "Timers that were not set, as the timing wheel was full.",
		numbers: inJSON("refused", func(w *WheelSnapshot) any { return &w.Refused })},
	{Name: "timingwheel_removed_total", Path: "pinwheel.timingwheel.timer.removed", Kind: counter, Unit: "{timer}",
		Help:    "Timers removed before they fired.",
		numbers: inJSON("removed", func(w *WheelSnapshot) any { return &w.Removed })},
	{Name: "timingwheel_fired_total", Path: "pinwheel.timingwheel.timer.fired", Kind: counter, Unit: "{timer}",
		Help:    "Callbacks begun.",
		numbers: inJSON("fired", func(w *WheelSnapshot) any { return &w.Fired })},
	{Name: "timingwheel_panics_total", Path: "pinwheel.timingwheel.callback.panics", Kind: counter, Unit: "{panic}",
		Help:    "Callbacks that panicked or ended their goroutine.",
		numbers: inJSON("panics", func(w *WheelSnapshot) any { return &w.Panics })},
	{Name: "timingwheel_lateness_seconds", Path: "pinwheel.timingwheel.lateness", Kind: durations, Unit: "{timer}",
		Help:    "Time from the tick at which a timer was due to its callback.",
		numbers: []number[WheelSnapshot]{{of: func(w *WheelSnapshot) any { return &w.Lateness }}}},
}

// wheelComputed are numbers for JSON that are computed from others.
var wheelComputed = []number[WheelSnapshot]{
	{json: "lateness_p50_seconds", point: "lateness_p50_seconds", says: "Median time from the tick at which a timer was due to its callback, in seconds; 0 if nothing fired. An estimate, at most a factor of two off.",
		of: func(w *WheelSnapshot) any { return p50(w.Lateness.data()) }},
	{json: "lateness_p99_seconds", point: "lateness_p99_seconds", says: "99th percentile of the time from the tick at which a timer was due to its callback, in seconds; 0 if nothing fired. An estimate, at most a factor of two off.",
		of: func(w *WheelSnapshot) any { return p99(w.Lateness.data()) }},
}

// inJSON returns the only number of a metric, with the same name in JSON everywhere.
func inJSON(name string, of func(*WheelSnapshot) any) []number[WheelSnapshot] {
	return []number[WheelSnapshot]{{json: name, point: name, of: of}}
}
