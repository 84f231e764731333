// Polls stats.json, and remembers its points.

import {base, state, byId, show, thisProcess} from './state.js';
import {clock, dated, bytes, percent} from './numbers.js';
import {setText} from './elements.js';
import {collect} from './findings.js';

function accept(json) {
	for (const what of ['caches', 'wheels']) remember(what, json);
	for (const cache of json.caches) {
		cache.gets = cache.hits + cache.misses;
		cache.quiet = !cache.gets && !cache.sets;
		cache.purge = json.purge;
	}
	Object.assign(state, {json, findings: collect(json), answered: Date.now(), failure: ''});
	document.body.dataset.updated = json.time;
	byId('fleet').hidden = !json.peers;
	setText(byId('process'), thisProcess());
	setText(byId('runs'), json.process ? runs(json.process) : '');
	show();
}

function runs({version, started, heap_bytes, memory_limit_bytes, collector_share}) {
	const heap = bytes(heap_bytes) + (memory_limit_bytes ? ' of ' + bytes(memory_limit_bytes) : '');
	return `${version} since ${dated(started)} · heap ${heap} · collector ${percent.text(collector_share)} of the CPU`;
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
