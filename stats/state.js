// What the page knows, and what it shows.

export const base = new URL(import.meta.url);
base.username = base.password = ''; // fetch refuses an address that has them, and sends them all the same

export const state = {
	view: null, // what is shown; it has node, title and update
	json: null, // the last good answer
	answered: Date.now(), // when it came
	failure: '', // why the last request failed
	paused: false,
	range: 300, // seconds
	cursor: null, // where the point under the cursor begins
	filter: '',
	troubled: false, // only caches in trouble are shown
	sort: {caches: {column: -1, down: false}, wheels: {column: 0, down: false}}, // column -1: trouble first
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

// place says which process has answered, for people.
export const place = ({host, address, pid}) => host + (address ? ':' + address.split(':').pop() : ', process ' + pid);

// retitle says in the tab what is shown, and of which instance.
export const retitle = () => document.title = [state.view.title, state.json && place(state.json), 'pinwheel'].filter(Boolean).join(' – ');

export const byId = (id) => document.getElementById(id);
export const show = () => state.json && state.view.update();
