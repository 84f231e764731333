// Polls stats.json, and remembers its points.

import {base, state, byId, show, place, retitle} from './state.js';
import {clock} from './numbers.js';
import {setText} from './elements.js';

function accept(json) {
	for (const what of ['caches', 'wheels']) remember(what, json);
	for (const cache of json.caches) {
		cache.gets = cache.hits + cache.misses;
		cache.quiet = !cache.gets && !cache.sets;
		cache.purge = json.purge;
		const points = state.points.caches.get(cache.name);
		cache.rates = {evicted_per_second: recent(points, 'evicted'), failed_per_second: recent(points, 'loads_failed')};
	}
	for (const wheel of json.wheels) wheel.fired_per_second = recent(state.points.wheels.get(wheel.name), 'fired');
	Object.assign(state, {json, answered: Date.now(), failure: ''});
	document.body.dataset.updated = json.time;
	setText(byId('process'), [json.program, json.release, 'on ' + place(json), 'since ' + new Date(json.started).toLocaleString('en-GB')].filter(Boolean).join(' '));
	byId('fleet').hidden = !json.peers;
	retitle();
	show();
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
	const gets = point.hits + point.misses_absent + point.misses_expired + point.misses_evicted;
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

export async function poll() {
	clearTimeout(timer);
	if (polling || state.paused || document.hidden) return;
	polling = true;
	try {
		const response = await fetch(new URL('stats.json?points=' + wanted(), base), {cache: 'no-store', signal: AbortSignal.timeout(8000)});
		if (!response.ok) throw new Error('status ' + response.status);
		const json = await response.json();
		if (!state.paused) accept(json);
		await state.view.poll?.();
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

export function pause() {
	state.paused = !state.paused;
	showState();
	poll();
}
