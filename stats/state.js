// What the page knows, and what it shows.

export const base = new URL(import.meta.url);
base.username = base.password = ''; // fetch refuses an address that has them, and sends them all the same

export const state = {
	view: null, // what is shown; it has node and update, and but for the overview a name
	json: null, // the last good answer
	findings: [], // of all that it has
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

export function store() {
	try {
		sessionStorage.setItem('pinwheel', JSON.stringify({range: state.range, sort: state.sort}));
	} catch {}
}

export const byId = (id) => document.getElementById(id);

export function show() {
	if (!state.json) return;
	state.view.update();
	const urgent = state.findings.filter((f) => !f.ended_seconds && f.level !== 'advice').length;
	const title = (urgent ? `(${urgent}) ` : '') + (state.view.name ? state.view.name + ' · ' : '') + thisProcess();
	if (document.title !== title) document.title = title;
}

export const thisProcess = ({program, host, process} = state.json) => `${program} on ${host}` + (process ? `, pid ${process.pid}` : '');

