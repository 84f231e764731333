'use strict';

// The statistics page polls stats.json, remembers an hour of points, and shows them.
// Names and keys are untrusted: they only ever become text, never markup. A poll changes
// texts and paths in place, so that focus and selection survive it.

const base = new URL(document.currentScript.src);
base.username = base.password = ''; // fetch refuses an address that has them, and sends them all the same

const state = {
	json: null, // the last good answer
	answered: Date.now(), // when it came
	failure: '', // why the last request failed
	paused: false,
	range: 300, // seconds
	cursor: null, // where the point under the cursor begins
	filter: '',
	sort: {caches: {column: 0, down: false}, wheels: {column: 0, down: false}},
	points: {caches: new Map(), wheels: new Map()}, // by name
};

try { // the browser may refuse storage
	Object.assign(state, JSON.parse(sessionStorage.getItem('pinwheel')));
} catch {}

// ---- Numbers as text

const none = '–';
const space = '\u00a0';
const sizes = [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G'], [1e12, 'T']];
const times = [[1e-6, 'µs'], [1e-3, 'ms'], [1, 's'], [60, 'min'], [3600, 'h'], [86400, 'd']];

const trimmed = (v) => String(Number(v.toPrecision(3)));
const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');

// digits returns v with three digits, or more before the point.
const digits = (v) => v < 0.0995 ? trimmed(v) : v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0);

// scaled returns v in the largest unit that leaves at least 1 before the point.
function scaled(v, units, show) {
	const [size, unit] = units.findLast(([size]) => v >= size * 0.9995) ?? units[0];
	return show(v / size) + (unit && space + unit);
}

// niceStep returns the least of 1, 2 and 5 times a power of ten that is not below v.
function niceStep(v) {
	const power = 10 ** Math.floor(Math.log10(v));
	return power * [1, 2, 5, 10].find((m) => m * power >= v * 0.9999);
}

function niceTime(v) {
	if (v <= 5) return niceStep(v);
	return [10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200].find((s) => s >= v) ??
		86400 * niceStep(v / 86400);
}

// A kind of number: its text (of a field of owner), the text and distance of ticks, and
// how high an axis is where all is 0.
const percent = {
	text: (v, owner) => owner?.gets === 0 ? none : (100 * v).toFixed(1) + space + '%',
	tick: (v) => 100 * v + space + '%',
	step: () => 0.25,
};
const count = {
	text: (v) => v < 999999.5 ? Math.round(v).toLocaleString('en-US') : scaled(v, sizes, digits),
	tick: (v) => scaled(v, sizes, trimmed),
	step: (v) => Math.max(1, niceStep(v)),
	top: 4,
};
const rate = {
	text: (v) => (v < 999.5 ? digits(v) : count.text(v)) + space + '/s',
	tick: count.tick,
	step: niceStep,
	top: 1,
};
const stacked = {...rate, stack: true}; // rates that add up
const seconds = { // a quantile of nothing is 0
	text: (v) => v ? scaled(v, times, digits) : none,
	tick: (v) => v ? scaled(v, times, trimmed) : '0',
	step: niceTime,
	top: 0.001,
};

function kindOf(path) {
	if (/(ratio|share)$/.test(path)) return percent;
	if (path.endsWith('per_second')) return rate;
	return path.endsWith('seconds') ? seconds : count;
}

// ---- Elements

function fit(node, attributes, children) {
	for (const name in attributes) node.setAttribute(name, attributes[name]);
	node.append(...children);
	return node;
}

const html = (tag, attributes, ...children) => fit(document.createElement(tag), attributes, children);
const box = (tag, name, ...children) => html(tag, {class: name}, ...children);
const svg = (tag, attributes, ...children) =>
	fit(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

function button(act, ...children) {
	const node = html('button', {type: 'button'}, ...children);
	node.onclick = act;
	return node;
}

// These write only what differs: what stands still can be selected.
function setText(node, text) {
	if (node.textContent !== text) node.textContent = text;
}

function set(node, name, value) {
	if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// fill gives parent so many children, and returns them.
function fill(parent, length, make) {
	while (parent.childElementCount > length) parent.lastChild.remove();
	while (parent.childElementCount < length) parent.append(make(parent.childElementCount));
	return [...parent.children];
}

// showNumber shows v readably, and in the title exactly.
function showNumber(node, v, kind, owner) {
	setText(node, v == null ? none : typeof v === 'string' ? v : kind.text(v, owner));
	set(node, 'data-value', v ?? '');
	set(node, 'title', v ?? '');
}

// find returns the field at path, and its owner.
function find(stats, path) {
	const steps = path.split('.');
	const last = steps.pop();
	const owner = steps.reduce((object, step) => object?.[step], stats);
	return [owner?.[last], owner];
}

// refresh updates all below root: data-field is the path of what an element shows,
// data-needs of what it is hidden without, data-part of how wide it is.
function refresh(root, stats) {
	const each = (name, act) => root.querySelectorAll(`[data-${name}]`).forEach((node) => act(node, node.dataset[name]));
	each('field', (node, path) => {
		const [v, owner] = find(stats, path);
		showNumber(node, v, kindOf(path), owner);
		node.classList.toggle('bad', v > 0 && /panics|failed|abandoned|overdue/.test(path));
	});
	each('needs', (node, path) => node.hidden = !find(stats, path)[0]);
	each('part', (node, paths) => {
		const [part, whole = 1] = paths.split('/').map((path) => find(stats, path)[0]);
		node.style.width = Math.min(100, 100 * part / whole) + '%';
	});
}

const field = (path) => html('span', {'data-field': path});
const bar = (paths) => box('span', 'bar', html('i', {'data-part': paths}));

// fullness shows what and, if there is a limit, of how much and a bar.
const fullness = (what, limit) => box('span', 'fullness', field(what),
	html('span', {'data-needs': limit}, ' / ', field(limit), bar(what + '/' + limit)));

// cell shows the field at path; with entries it shows the weight of a weighted cache.
const cell = (path) => path !== 'entries' ? field(path) : html('span', {}, fullness(path, 'limit'),
	html('small', {'data-needs': 'max_weight'}, 'weight ', fullness('weight', 'max_weight')));

// ---- Points as curves

// curve returns the function of a point to draw, null for a gap.
function curve(kind, field) {
	if (kind.step === niceStep) return (p) => p[field] / p.seconds; // a rate
	if (kind === seconds || /limit|max/.test(field)) return (p) => p[field] || null;
	return (p) => p[field];
}

// stretches returns the indices of points in runs without a gap.
function stretches(points, values) {
	const runs = [];
	points.forEach((p, i) => {
		if (values[i] == null) return;
		if (i && values[i - 1] != null && p.from - points[i - 1].to < 3000) runs.at(-1).push(i);
		else runs.push([i]);
	});
	return runs;
}

// A run of one point is a dot.
function linePath(runs, x, y) {
	const at = (i) => x[i].toFixed(1) + ' ' + y[i].toFixed(1);
	return runs.map((run) => 'M' + run.map(at).join('L') + (run.length > 1 ? '' : 'm-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0')).join('');
}

function areaPath(runs, x, top, bottom) {
	return runs.map((run) =>
		linePath([run], x, top) + linePath([run.toReversed()], x, bottom).replace('M', 'L') + 'Z').join('');
}

// A frame is the time range and its points, and one before: lines begin at the edge.
function newFrame(points = []) {
	const to = Date.parse(state.json.time);
	const from = to - 1000 * state.range;
	const start = points.findIndex((p) => p.to > from);
	return {from, to, points: start < 0 ? [] : points.slice(Math.max(0, start - 1))};
}

function newSpark(kind, field) {
	const width = 84, height = 22;
	const area = svg('path', {class: 'area'});
	const line = svg('path', {class: 'line'});
	const value = curve(kind, field);
	const update = ({points, from, to}) => {
		const values = points.map(value);
		const high = kind === percent ? 1 : Math.max(...values, 1e-9);
		const x = points.map((p) => (width - 2) * (p.to - from) / (to - from));
		const y = values.map((v) => height - 1 - (height - 3) * v / high);
		const runs = stretches(points, values);
		set(line, 'd', linePath(runs, x, y));
		set(area, 'd', areaPath(runs, x, y, y.map(() => height)));
	};
	return {node: svg('svg', {class: 'spark s0', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': true}, area, line), update};
}

// ---- Charts

const left = 54; // of the plot, in pixels
const height = 142;

// A chart: id, title, kind, curves (name:field, or both in one), and perhaps what it needs.
const charts = {
	caches: [
		['hit-ratio', 'Hit ratio', percent, 'hits:hit_ratio'],
		['requests', 'Requests by result', stacked, 'hits absent:misses_absent expired:misses_expired'],
		['entries', 'Entries', count, 'entries limit'],
		['weight', 'Weight', count, 'weight limit:max_weight', 'max_weight'],
		['removals', 'Removals by cause', stacked, 'expired evicted deleted replaced cleared'],
		['load', 'Load time', seconds, 'p99:load_p99_seconds p50:load_p50_seconds'],
		['loads', 'Loads and sets', rate, 'loads failed:loads_failed joined:load_waiters sets'],
		['evicted-age', 'Age at eviction', seconds,
			'p99:evicted_age_p99_seconds p50:evicted_age_p50_seconds', 'evicted_age'],
		['running', 'Loads that run', count, 'running:loads_running gave-up:loads_abandoned'],
		['callbacks', 'Callback backlog', count, 'queued:callbacks_queued running:callbacks_running panics:callback_panics'],
		['lateness', 'Expiry lateness', seconds, 'p99:lateness_p99_seconds p50:lateness_p50_seconds'],
		['tombstones', 'Expiry wheel', count, 'pending:expiry_pending overdue:expiry_overdue tombstones'],
	],
	wheels: [
		['pending', 'Timers', count, 'pending tombstones'],
		['timers', 'Fired, started, removed', rate, 'fired started removed'],
		['backlog', 'Callback backlog', count, 'backlog running panics'],
		['lateness', 'Lateness', seconds, 'p99:lateness_p99_seconds p50:lateness_p50_seconds'],
	],
};

const resized = new ResizeObserver((changes) => changes.forEach(({target}) => target.chart.draw()));

class Chart {
	constructor([id, title, kind, curves, needs = 'name']) {
		Object.assign(this, {title, kind});
		this.series = curves.split(' ').map((text, i) => newSeries(kind, text.split(':'), i));
		const all = (part) => this.series.map((s) => s[part]);
		this.values = svg('g', {class: 'values'});
		this.times = svg('g', {class: 'times', transform: `translate(0 ${height})`});
		this.cursor = svg('path', {class: 'cursor', d: 'M0 0V' + height});
		// A nested svg clips what is outside the time range.
		const plot = svg('svg', {height}, ...all('area'), ...all('line'), this.cursor, ...all('dot'));
		this.node = svg('svg', {class: 'chart', height: height + 26, tabindex: 0, role: 'img'},
			svg('g', {transform: `translate(${left} 6)`}, this.values, this.times, plot));
		this.note = html('span');
		this.figure = html('figure', {class: kind.stack ? 'card stack' : 'card', 'data-chart': id, 'data-needs': needs},
			html('figcaption', {}, html('h2', {}, title), this.note, box('ul', 'legend', ...all('entry'))), this.node);
		this.node.chart = this;
		resized.observe(this.node);
		listen(this);
	}

	draw(frame = this.frame) {
		this.frame = frame;
		this.width = this.node.clientWidth - left - 6;
		if (!frame || this.width <= 0) return;
		this.measure();
		this.drawAxes();
		this.drawSeries();
		this.mark();
	}

	// x and y leave room for half a line at the edges.
	x(time) {
		return (this.width - 4) * (time - this.frame.from) / (this.frame.to - this.frame.from);
	}

	y(value) {
		return height - (height - 3) * value / this.high;
	}

	// measure computes all values, and how high the plot is.
	measure() {
		const {kind, series, frame: {points}} = this;
		let bottom = points.map(() => 0);
		for (const s of series) {
			s.values = points.map(s.value);
			s.bottom = bottom;
			s.top = s.values.map((v, i) => v + bottom[i]);
			if (kind.stack) bottom = s.top;
		}
		const high = kind === percent ? 1 : Math.max(0, ...series.flatMap((s) => s.top)) || kind.top;
		this.step = kind.step(high / 4);
		this.high = this.step * Math.ceil(high / this.step - 1e-9);
	}

	drawAxes() {
		const {from, to} = this.frame;
		const values = Array.from({length: Math.round(this.high / this.step) + 1}, (_, i) => i * this.step);
		setTicks(this.values, values, (v) => [0, this.y(v)], 'h' + this.width, this.kind.tick);
		const step = [5e3, 15e3, 30e3, 6e4, 12e4, 3e5, 6e5, 9e5].find((s) => this.x(from + s) > 60) ?? 18e5;
		const times = [];
		for (let t = to - to % step; t > from; t -= step) if (this.x(t) < this.width - 20) times.push(t);
		setTicks(this.times, times, (t) => [this.x(t), 0], 'v4', clock);
	}

	drawSeries() {
		const {points} = this.frame;
		const x = points.map((p) => this.x(p.to));
		const y = (values) => values.map((v) => this.y(v));
		for (const s of this.series) {
			const runs = stretches(points, s.values);
			set(s.line, 'd', linePath(runs, x, y(s.top)));
			if (s.filled) set(s.area, 'd', areaPath(runs, x, y(s.top), y(s.bottom)));
			s.entry.hidden = s.name === 'limit' && !runs.length;
		}
	}

	// mark shows the cursor, and the values at it or else the latest.
	mark() {
		const {points} = this.frame;
		const found = underCursor(this.frame);
		const at = found < 0 ? points.length - 1 : found;
		const time = points[at]?.to;
		const put = (node, shown, y) => {
			node.style.display = found < 0 || !shown ? 'none' : '';
			if (shown) set(node, 'transform', `translate(${this.x(time)} ${y})`);
		};
		put(this.cursor, time, 0);
		for (const s of this.series) {
			showNumber(s.number, s.values[at], this.kind);
			put(s.dot, s.values[at] != null, this.y(s.top[at]));
		}
		const empty = this.series.every((s) => s.values.every((v) => v == null));
		const values = this.series.map((s) => s.name + ' ' + s.number.textContent).join(', ');
		setText(this.note, empty ? 'nothing in this time' : found < 0 ? '' : clock(time));
		set(this.node, 'aria-label', this.title + (empty ? ': nothing' : ` at ${clock(time)}: ${values}`));
	}
}

function newSeries(kind, [name, field = name], i) {
	const style = name === 'limit' ? 'limit' : 's' + i;
	const line = (d) => svg('path', {class: 'line ' + style, d});
	const number = html('b');
	return {
		name, number, value: curve(kind, field),
		filled: kind.stack || !i,
		area: svg('path', {class: 'area ' + style}),
		line: line(''),
		dot: svg('circle', {class: 'dot ' + style, r: 3.5}),
		entry: html('li', {}, svg('svg', {width: 22, height: 8}, line('M1 4H21')), name, ' ', number),
	};
}

function setTicks(axis, values, place, line, text) {
	fill(axis, values.length, () => svg('g', {}, svg('path'), svg('text'))).forEach((tick, i) => {
		set(tick, 'transform', `translate(${place(values[i])})`);
		set(tick.firstChild, 'd', 'M0 0' + line);
		setText(tick.lastChild, text(values[i]));
	});
}

const isShortcut = (event) => event.ctrlKey || event.metaKey || event.altKey;
const underCursor = ({points}) => points.findIndex((p) => p.from === state.cursor);

// setCursor puts the cursor of all charts at a point, or nowhere.
function setCursor(point) {
	state.cursor = point?.from;
	view.charts?.forEach((chart) => chart.width > 0 && chart.mark());
}

function listen(chart) {
	const {node} = chart;
	node.onpointerdown = node.onpointermove = ({clientX}) => {
		const x = clientX - node.getBoundingClientRect().left - left;
		const distance = (p) => Math.abs(chart.x(p.to) - x);
		setCursor(chart.frame.points.toSorted((a, b) => distance(a) - distance(b))[0]);
	};
	node.onpointerleave = (event) => event.pointerType === 'mouse' && setCursor(); // a finger is lifted to read
	node.onblur = () => setCursor();
	node.onkeydown = (event) => {
		const last = chart.frame.points.length - 1;
		const found = underCursor(chart.frame);
		const at = found < 0 ? last : found;
		const to = {ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last, Escape: -1}[event.key];
		if (to === undefined || isShortcut(event)) return;
		event.preventDefault();
		setCursor(chart.frame.points[to]);
		setText(byId('spoken'), node.getAttribute('aria-label'));
	};
}

// ---- Overview

// A column: title, note, path of its field, and perhaps the field of its spark.
const columns = {
	caches: [
		['Cache', 'name', 'name'],
		['Hit ratio', '1 min', 'windows.1m.hit_ratio', 'hit_ratio'],
		['Hit ratio', '5 min', 'windows.5m.hit_ratio'],
		['Hit ratio', 'in all', 'hit_ratio'],
		['Requests', '1 min', 'windows.1m.gets_per_second', 'gets'],
		['Entries', 'of limit', 'entries'],
		['Evictions', '1 min', 'rates.evicted_per_second'],
		['Load time', 'p99, 5 min', 'windows.5m.load_p99_seconds'],
		['Loads failed', '1 min', 'rates.failed_per_second'],
		['Loads running', 'now', 'loads.running'],
	],
	wheels: [
		['Timing wheel', 'name', 'name'],
		['Pending', 'timers', 'pending'],
		['Backlog', 'callbacks', 'backlog'],
		['Running', 'callbacks', 'running'],
		['Fired', '1 min', 'fired_per_second', 'fired'],
		['Lateness', 'p99, in all', 'lateness_p99_seconds'],
		['Panics', 'in all', 'panics'],
	],
};

function newTable(what) {
	const rows = new Map(); // by name
	const sort = state.sort[what];
	const sortBy = (column) => { // names start with A, numbers with the greatest
		sort.down = sort.column === column ? !sort.down : column > 0;
		sort.column = column;
		store();
		order();
	};
	const heads = columns[what].map(([title, note], i) =>
		html('th', {}, button(() => sortBy(i), title + ' ', html('small', {}, note))));
	const body = html('tbody');
	const node = html('table', {class: 'card list', 'aria-label': what}, html('thead', {}, html('tr', {}, ...heads)), body);

	const order = () => {
		const path = columns[what][sort.column][2];
		const key = ({stats}) => find(stats, path)[0];
		heads.forEach((head, i) =>
			set(head, 'aria-sort', i !== sort.column ? 'none' : sort.down ? 'descending' : 'ascending'));
		[...rows.values()]
			.sort((a, b) => (sort.down ? -1 : 1) * compare(key(a), key(b)) || compare(a.stats.name, b.stats.name))
			.forEach(({node}, i) => body.children[i] !== node && body.insertBefore(node, body.children[i]));
	};
	// While somebody points at a row, all hold still.
	const inUse = () => {
		const {anchorNode, isCollapsed} = getSelection();
		return body.matches(':hover, :focus-within') || !isCollapsed && body.contains(anchorNode);
	};
	const update = () => {
		const all = state.json[what];
		const names = new Set(all.map(({name}) => name));
		for (const [name, {node}] of rows) {
			if (names.has(name)) continue;
			node.remove();
			rows.delete(name);
		}
		const before = rows.size;
		for (const stats of all) {
			if (!rows.has(stats.name)) rows.set(stats.name, newRow(what, stats.name));
			rows.get(stats.name).update(stats);
		}
		if (rows.size > before || !inUse()) order();
	};
	return {node, rows, update};
}

const compare = (a, b) => (a > b) - (a < b);

function newRow(what, name) {
	const sparks = [];
	const cells = columns[what].slice(1).map(([title, note, path, field]) => {
		const spark = field && newSpark(kindOf(path), field);
		if (spark) sparks.push(spark);
		return html('td', {'data-title': title + ', ' + note}, spark?.node ?? '', cell(path));
	});
	const link = html('a', {href: '#/' + what.slice(0, -1) + '/' + encodeURIComponent(name), 'data-field': 'name'}, name);
	const node = html('tr', {'data-name': name},
		html('th', {scope: 'row'}, link, html('small', {'data-needs': 'quiet'}, 'no traffic yet'),
			html('small', {class: 'bad', 'data-needs': 'tight'}, 'limit too small')), ...cells);
	const row = {node, update(stats) {
		row.stats = stats;
		node.hidden = !name.toLowerCase().includes(state.filter);
		refresh(node, stats);
		const frame = newFrame(state.points[what].get(name));
		sparks.forEach((spark) => spark.update(frame));
	}};
	return row;
}

const newNotice = () => box('p', 'notice', 'No answer yet.');

function newOverview() {
	const tables = [newTable('caches'), newTable('wheels')];
	const filter = html('input', {type: 'search', placeholder: 'Filter by name', 'aria-label': 'Filter by name'});
	const notice = newNotice();
	const node = html('div', {}, filter, notice, ...tables.map((table) => table.node));
	const update = () => {
		tables.forEach((table) => table.update());
		const rows = tables.flatMap((table) => [...table.rows.values()]);
		filter.hidden = rows.length <= 8 && !state.filter;
		notice.hidden = rows.some((row) => !row.node.hidden);
		setText(notice, rows.length ? 'No name has this in it.' :
			'No cache is registered. A cache or timing wheel is here until it is closed or collected.');
	};
	filter.hidden = true;
	filter.oninput = () => {
		state.filter = filter.value.toLowerCase();
		show();
	};
	return {title: 'pinwheel', node, filter, update};
}

// ---- One cache or wheel

const newTile = ([title, note, path]) =>
	box('div', 'card tile', html('h2', {}, title, ' ', html('small', {}, note)), cell(path));

// phrases are words for fields whose names are for programs.
const phrases = {
	windows: '', '1m': 'last minute', '5m': 'last 5 minutes', seconds: 'time covered',
	gets: 'requests', gets_per_second: 'requests', max_weight: 'most weight',
	misses_absent: 'misses, nothing there', misses_expired: 'misses, expired',
	loads_failed: 'loads failed', loads_abandoned: 'callers gave up', abandoned: 'callers gave up',
	ok: 'succeeded', waiters: 'callers joined another', oldest_seconds: 'oldest has run for',
	mean_seconds: 'mean', p50_seconds: 'median', p99_seconds: '99 % within',
	load_p50_seconds: 'load time, median', load_p99_seconds: 'load time, 99 % within',
	lateness_p50_seconds: 'lateness, median', lateness_p99_seconds: 'lateness, 99 % within',
};

// newSheets returns tables of all numbers in stats: none is unreachable.
function newSheets(stats, title = '', path = '') {
	const rows = [], more = [];
	for (const [name, v] of Object.entries(stats)) {
		const words = phrases[name] ?? name.replace(/_seconds$/, '').replaceAll('_', ' ');
		if (typeof v === 'number') rows.push(html('tr', {}, html('th', {scope: 'row'}, words), html('td', {}, field(path + name))));
		else if (v?.constructor === Object) more.push(...newSheets(v, title + ' ' + words, path + name + '.'));
	}
	return rows.length ? [box('table', 'card sheet', html('caption', {}, html('h2', {}, title.trim() || 'since the start')), ...rows), ...more] : more;
}

const newBars = (needs, title, ...rows) => html('section', {class: 'card bars', 'data-needs': needs},
	html('h2', {}, title), html('ol', {tabindex: 0, 'aria-label': title}, ...rows));
const newBar = (word, path, whole) => html('li', {}, word, field(path), bar(path + whole));

const hotKey = (i) => newBar(field(`hot_keys.${i}.key`), `hot_keys.${i}.share`, '');
const whatIf = (word, path) => newBar(html('span', {}, word + ', ', field(path + 'limit')), path + 'hit_ratio', '');

// newPurge returns a form to remove one key or, after a second click, all.
function newPurge(cache) {
	const key = html('input', {'data-needs': 'purgeable', 'aria-label': 'Key', placeholder: 'Key', autocomplete: 'off', spellcheck: false});
	const all = button(({detail}) => {
		if (detail > 1) return; // a double click is not a second thought
		if (armed) send({all: 1});
		arm(!armed);
	});
	const result = html('output');
	const node = html('form', {class: 'card', 'data-needs': 'purge'}, html('h2', {}, 'Purge'),
		html('p', {}, key, html('button', {'data-needs': 'purgeable'}, 'Purge key'), all), result);
	let armed;
	const arm = (on) => {
		armed = on;
		setText(all, on ? 'Yes, remove all entries' : 'Purge all…');
	};
	const send = async (what) => {
		setText(result, 'Purging.');
		try {
			const response = await fetch(new URL('purge', base), {method: 'POST', body: new URLSearchParams({cache, ...what})});
			const {removed, error} = await response.json().catch(() => ({})); // a proxy may answer otherwise
			if (!response.ok) throw new Error(error ?? 'status ' + response.status);
			setText(result, `Removed ${count.text(removed)}.`);
		} catch ({message}) {
			setText(result, `Not purged: ${message}.`);
		}
		poll();
	};
	all.onblur = () => arm(false);
	node.onsubmit = (event) => {
		event.preventDefault();
		send({key: key.value});
	};
	arm(false);
	return node;
}

// newRecorder returns a form to record what the cache is asked for, and keep that as a file.
function newRecorder(cache) {
	const input = (name, value, max) => html('input', {name, value, type: 'number', min: 1, max, required: true});
	const seconds = input('seconds', 60, 3600);
	const oneIn = input('one_in', 64, 1 << 20);
	const start = html('button', {}, 'Record');
	const result = html('output');
	const node = html('form', {class: 'card', 'data-needs': 'purge'}, html('h2', {}, 'Record for cachesim'),
		html('p', {}, html('label', {}, 'seconds ', seconds), ' ', html('label', {}, 'one key in ', oneIn), ' ', start), result);
	node.onsubmit = async (event) => {
		event.preventDefault();
		start.disabled = true;
		setText(result, `Recording for ${seconds.value} s: keep this page open.`);
		try {
			const body = new URLSearchParams({cache, seconds: seconds.value, one_in: oneIn.value});
			const response = await fetch(new URL('record', base), {method: 'POST', body});
			if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error ?? 'status ' + response.status);
			const file = await response.blob();
			const href = URL.createObjectURL(file);
			html('a', {href, download: cache + '.recording'}).click();
			URL.revokeObjectURL(href);
			setText(result, `Recorded ${scaled(file.size, sizes, digits)}B.`);
		} catch ({message}) {
			setText(result, `Not recorded: ${message}.`);
		}
		start.disabled = false;
	};
	return node;
}

function newDetail(what, name) {
	const notice = newNotice();
	const head = html('h1', {tabindex: -1}, name);
	const body = html('div', {'data-name': name});
	const hot = newBars('hot_keys.length', 'Hottest keys, share of gets');
	const view = {title: name + ' – pinwheel', head, charts: charts[what].map((spec) => new Chart(spec))};
	const build = (stats) => {
		const ifs = [whatIf('half', 'what_if.half.'), whatIf('as it is', 'what_if.same.'), whatIf('double', 'what_if.double.')];
		const more = [hot, newBars('what_if', 'Hit ratio if the limit were', ...ifs), newPurge(name), newRecorder(name)];
		body.append(
			box('div', 'tiles', ...columns[what].slice(1).map(newTile)),
			box('div', 'charts', ...view.charts.map((chart) => chart.figure), ...more),
			box('div', 'sheets', ...newSheets({...stats, what_if: null, rates: null})));
	};
	const since = html('p');
	view.node = html('div', {}, html('a', {href: '#/'}, '‹ Overview'), head, since, notice, body);
	view.update = () => {
		const stats = state.json[what].find((s) => s.name === name);
		body.hidden = !stats;
		notice.hidden = stats && !stats.quiet;
		setText(notice, stats ? 'No traffic yet.' : `No longer among the ${what}: it was closed or collected.`);
		if (!stats) return;
		if (stats.since) setText(since, `Since ${new Date(stats.since).toLocaleString('en-GB')}.` +
			(stats.tight ? ' It is at its limit, and misses because of that.' : ''));
		if (!body.firstChild) build(stats);
		fill(hot.lastChild, stats.hot_keys?.length ?? 0, hotKey);
		refresh(body, stats);
		const frame = newFrame(state.points[what].get(name));
		view.charts.forEach((chart) => chart.draw(frame));
	};
	return view;
}

// ---- Views

const byId = (id) => document.getElementById(id);
const overview = newOverview(); // it lives on behind the details
let view = overview;

function route() {
	const [, what, name] = /^#\/(cache|wheel)\/(.+)/.exec(location.hash) ?? [];
	try {
		return what ? newDetail(what + 's', decodeURIComponent(name)) : overview;
	} catch {
		return overview; // a malformed address
	}
}

function go() {
	view.charts?.forEach((chart) => resized.unobserve(chart.node));
	view.scroll = scrollY;
	state.cursor = null;
	view = route();
	document.title = view.title;
	byId('main').replaceChildren(view.node);
	show();
	scrollTo(0, view.scroll ?? 0);
}

const show = () => state.json && view.update();

// ---- Polling

function accept(json) {
	for (const what of ['caches', 'wheels']) remember(what, json);
	for (const cache of json.caches) {
		cache.gets = cache.hits + cache.misses;
		cache.quiet = !cache.gets && !cache.sets;
		cache.purge = json.purge;
		const points = state.points.caches.get(cache.name);
		cache.rates = {evicted_per_second: recent(points, 'evicted'), failed_per_second: recent(points, 'loads_failed')};
		cache.tight = isTight(cache);
	}
	for (const wheel of json.wheels) wheel.fired_per_second = recent(state.points.wheels.get(wheel.name), 'fired');
	Object.assign(state, {json, answered: Date.now(), failure: ''});
	document.body.dataset.updated = json.time;
	setText(byId('process'), `${json.program} on ${json.host}`);
	show();
}

// isTight tells whether a cache evicts what it would need: double the limit would hit
// more or, if nobody estimates that, most requests miss.
function isTight({limit, entries, max_weight: most, weight, windows: {'1m': {evicted, hits, misses}}, what_if: ifs}) {
	const full = limit && entries >= 0.95 * limit || most && weight >= 0.95 * most;
	return Boolean(full && evicted && (ifs ? ifs.double.hit_ratio > ifs.same.hit_ratio + 0.02 : misses > hits));
}

// remember adds points that are over, and forgets those an hour old, or of a lost name.
function remember(what, json) {
	const oldest = Date.parse(json.time) - 3600e3;
	const before = state.points[what];
	state.points[what] = new Map(json[what].map(({name, history = []}) => {
		const fresh = history.filter((p) => !p.partial).map(prepare); // rates over a second would leap
		const old = (before.get(name) ?? []).filter((p) => p.from > oldest && !(p.from >= fresh[0]?.from));
		return [name, old.concat(fresh)];
	}));
}

function prepare(point) {
	const from = Date.parse(point.start);
	const gets = point.hits + point.misses_absent + point.misses_expired;
	return {...point, from, to: from + 1000 * point.seconds, gets, hit_ratio: gets ? point.hits / gets : null};
}

function recent(points, field) {
	const total = (f) => points.slice(-12).reduce((sum, p) => sum + p[f], 0);
	return total(field) / (total('seconds') || 1);
}

// wanted returns how many points (of 5 s) to ask for: those missed, or all.
function wanted() {
	const missed = Math.ceil((Date.now() - state.answered) / 5000);
	return state.json && missed <= 40 ? missed + 3 : 60;
}

let polling = false;
let timer;

async function poll() {
	clearTimeout(timer);
	if (polling || state.paused || document.hidden) return;
	polling = true;
	try {
		const response = await fetch(new URL('stats.json?points=' + wanted(), base), {cache: 'no-store', signal: AbortSignal.timeout(8000)});
		if (!response.ok) throw new Error('status ' + response.status);
		const json = await response.json();
		if (!state.paused) accept(json);
	} catch (error) {
		state.failure = error.message;
	}
	polling = false;
	showState();
	timer = setTimeout(poll, 2000);
}

function showState() {
	const {paused, failure, answered, json} = state;
	document.body.dataset.state = paused ? 'paused' : failure ? 'stale' : 'live';
	setText(byId('state'), paused ? 'paused' : failure ? `no answer since ${clock(answered)} (${failure})` : 'live');
	setText(byId('time'), json && (paused || !failure) ? clock(Date.parse(json.time)) : '');
	setText(byId('pause'), paused ? 'Resume' : 'Pause');
}

function pause() {
	state.paused = !state.paused;
	showState();
	poll();
}

// ---- Settings and keys

const ranges = [...document.getElementsByName('range')];

function store() {
	try {
		sessionStorage.setItem('pinwheel', JSON.stringify({range: state.range, sort: state.sort}));
	} catch {}
}

function setRange(range) {
	state.range = range;
	ranges.forEach((input) => input.checked = Number(input.value) === range);
	store();
	show();
}

function onKey(event) {
	if (isShortcut(event) || event.target.matches('input:not([type=radio])')) return;
	if (event.key === 'p') pause();
	else if (/^[1-4]$/.test(event.key)) ranges[event.key - 1].click();
	else if (event.key === '/') overview.filter.focus();
	else return;
	event.preventDefault();
}

ranges.forEach((input) => input.onchange = () => setRange(Number(input.value)));
byId('pause').onclick = pause;
document.onkeydown = onKey;
document.onvisibilitychange = poll;
window.onhashchange = () => {
	go();
	view.head?.focus({preventScroll: true}); // so that a screen reader says where one is
};
setRange(state.range);
go();
poll();
