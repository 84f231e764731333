// One cache or wheel.

import {state} from './state.js';
import {percent, count, rate, stacked, seconds} from './numbers.js';
import {html, box, setText, fill, refresh, field, bar, cell} from './elements.js';
import {newFrame} from './curves.js';
import {Chart} from './chart.js';
import {newPurge, newRecorder} from './forms.js';
import {columns, newNotice} from './overview.js';

// A chart: id, title, kind, curves (name:field, or both in one), and perhaps what it needs.
const charts = {
	caches: [
		['hit-ratio', 'Hit ratio', percent, 'hits:hit_ratio'],
		['requests', 'Requests by result', stacked, 'hits absent:misses_absent expired:misses_expired evicted:misses_evicted'],
		['entries', 'Entries', count, 'entries limit'],
		['weight', 'Weight', count, 'weight limit:max_weight', 'max_weight'],
		['removals', 'Removals by cause', stacked, 'expired evicted deleted replaced cleared'],
		['load', 'Load time', seconds, 'p99:load_p99_seconds p50:load_p50_seconds'],
		['loads', 'Loads and sets', rate, 'loads failed:loads_failed joined:load_waiters sets'],
		['evicted-age', 'Age at eviction', seconds,
			'p99:evicted_age_p99_seconds p50:evicted_age_p50_seconds', 'evicted_age'],
		['running', 'Loads that run', count, 'running:loads_running queued:loads_queued gave-up:loads_abandoned'],
		['refreshes', 'Refreshes', rate, 'done:refreshes failed:refreshes_failed skipped:refreshes_skipped in-grace:hits_in_grace'],
		['callbacks', 'Callback backlog', count, 'queued:callbacks_queued running:callbacks_running panics:callback_panics'],
		['lateness', 'Expiry lateness', seconds, 'p99:lateness_p99_seconds p50:lateness_p50_seconds'],
		['tombstones', 'Expiry wheel', count, 'pending:expiry_pending overdue:expiry_overdue removed-not-unlinked:tombstones'],
		['near-answers', 'Near: answers from', stacked,
			'memory:hits store:near.remote_hits fetched:near.fetches past-store:near.bypasses', 'near'],
		['near-lag', 'Near: lag of the source', seconds, 'lag:near.lag_seconds behind:near.behind_seconds limit:near.max_lag_seconds', 'near'],
		['near-changes', 'Near: changes', rate, 'reported:near.changes waited-for:near.waits fetched-in-vain:near.overtaken', 'near'],
		['near-trouble', 'Near: trouble', count,
			'connections-lost:near.reconnects store-errors:near.store_errors undecodable:near.undecodable not-tried:near.unasked unconfirmed:near.unserved older-values:near.served_on', 'near'],
	],
	wheels: [
		['pending', 'Timers', count, 'pending removed-not-unlinked:tombstones'],
		['timers', 'Fired, started, removed', rate, 'fired started removed'],
		['moves', 'Moves, and what they cost', rate, 'moved looked-at:visits put-into-another-slot:relinks refused-at-the-limit:refused'],
		['backlog', 'Callback backlog', count, 'backlog running panics'],
		['lateness', 'Lateness', seconds, 'p99:lateness_p99_seconds p50:lateness_p50_seconds'],
	],
};

const newTile = ([title, note, path]) =>
	box('div', 'card tile', html('h2', {}, title, ' ', html('small', {}, note)), cell(path));

// phrases are words for fields whose names are for programs.
const phrases = {
	windows: '', '1m': 'last minute', '5m': 'last 5 minutes', seconds: 'time covered',
	gets: 'requests', gets_per_second: 'requests', max_weight: 'most weight',
	misses_absent: 'misses, not there recently', misses_expired: 'misses, expired', misses_evicted: 'misses, evicted',
	policy: 'eviction', expire_seconds: 'TTL', idle_seconds: 'idle', timeout_seconds: 'time-out of loads', max_loads: 'most loads at once', interval_seconds: 'tick', workers: 'most callbacks at once',
	hottest_key_share: 'share of the hottest key', evicted_age_p50_seconds: 'age at eviction, median', evicted_age_p99_seconds: 'age at eviction, 99 % within',
	hits_in_grace: 'hits in grace (expired values)', negatives: 'errors stored by Negative',
	tombstones: 'removed, not unlinked yet', visits: 'looked at by the wheel', relinks: 'put into another slot', refused: 'refused at the limit',
	loads_failed: 'loads failed', loads_abandoned: 'callers gave up', abandoned: 'callers gave up',
	ok: 'succeeded', waiters: 'callers joined another', oldest_seconds: 'oldest has run for',
	mean_seconds: 'mean', p50_seconds: 'median', p99_seconds: '99 % within',
	load_p50_seconds: 'load time, median', load_p99_seconds: 'load time, 99 % within',
	lateness_p50_seconds: 'lateness, median', lateness_p99_seconds: 'lateness, 99 % within',
	near: 'near cache', remote_hits: 'answers of the store', fetches: 'fetched', bypasses: 'fetched past the store',
	waits: 'waited for another instance', overtaken: 'fetched in vain, changed meanwhile', unserved: 'keys loaded while the source confirmed nothing',
	served_on: 'answered by older values', store_errors: 'errors of the store', undecodable: 'values not decodable', unasked: 'reads not tried, as the store fails', changes: 'changes reported', forgotten_all: 'reports that any key may have changed',
	reconnects: 'connections lost', lag_seconds: 'lag of the source', behind_seconds: 'least lag', partial: 'some changes late or not reported', max_lag_seconds: 'most lag',
};

// newSheets returns tables of all numbers and settings in stats, so that each can be found.
function newSheets(stats, title = '', path = '') {
	const rows = [], more = [];
	for (const [name, v] of Object.entries(stats)) {
		const words = phrases[name] ?? name.replace(/_seconds$/, '').replaceAll('_', ' ');
		if (typeof v === 'number' || path === 'settings.') rows.push(html('tr', {}, html('th', {scope: 'row'}, words), html('td', {}, field(path + name))));
		else if (v?.constructor === Object) more.push(...newSheets(v, title + ' ' + words, path + name + '.'));
	}
	return rows.length ? [box('table', 'card sheet', html('caption', {}, html('h2', {}, title.trim() || 'since the start')), ...rows), ...more] : more;
}

const newBars = (needs, title, ...rows) => html('section', {class: 'card bars', 'data-needs': needs},
	html('h2', {}, title), html('ol', {tabindex: 0, 'aria-label': title}, ...rows));
const newBar = (word, path, whole) => html('li', {}, word, field(path), bar(path + whole));

const hotKey = (i) => newBar(field(`hot_keys.${i}.key`), `hot_keys.${i}.share`, '');
const whatIf = (word, path) => newBar(html('span', {}, word + ', ', field(path + 'limit')), path + 'hit_ratio', '');

const failures = [['last_load_error', 'A load failed'], ['last_store_error', 'The store failed'], ['last_source_error', 'The source of changes lost its connection']];

const newFailure = ([field, what]) => {
	const node = html('p');
	const update = (stats) => {
		const last = stats[field];
		setText(node, last ? `${what} last on ${new Date(last.time).toLocaleString('en-GB')}: ${last.text || 'error of type ' + last.type}` : '');
	};
	return {node, update};
};

export function newDetail(what, name) {
	const notice = newNotice();
	const head = html('h1', {tabindex: -1}, name);
	const body = html('div', {'data-name': name});
	const hot = newBars('hot_keys.length', 'Hottest keys, share of gets');
	const view = {title: name + ' – pinwheel', head, charts: charts[what].map((spec) => new Chart(spec))};
	const build = (stats) => {
		const ifs = [whatIf('half', 'what_if.half.'), whatIf('as it is', 'what_if.same.'), whatIf('double', 'what_if.double.')];
		const other = stats.settings?.policy === 'adaptive' ? 'as it is, with LRU' : 'as it is, with Adaptive';
		ifs.push(whatIf(other, 'what_if.other_policy.'));
		const more = [hot, newBars('what_if', 'Hit ratio if the limit were', ...ifs), newPurge(name), newRecorder(name)];
		body.append(
			box('div', 'tiles', ...columns[what].slice(1).map(newTile)),
			box('div', 'charts', ...view.charts.map((chart) => chart.figure), ...more),
			box('div', 'sheets', ...newSheets({...stats, what_if: null, rates: null})));
	};
	const since = html('p'), failed = failures.map(newFailure), findings = box('ul', 'findings');
	view.node = html('div', {}, html('a', {href: '#/'}, '‹ Overview'), head, since, findings, ...failed.map((one) => one.node), notice, body);
	view.update = () => {
		const stats = state.json[what].find((s) => s.name === name);
		body.hidden = !stats;
		notice.hidden = stats && !stats.quiet;
		setText(notice, stats ? 'No traffic yet.' : `No longer among the ${what}: it was closed or collected.`);
		if (!stats) return;
		if (stats.since) setText(since, `Since ${new Date(stats.since).toLocaleString('en-GB')}.`);
		fill(findings, stats.findings?.length ?? 0, () => box('li', 'bad')).forEach((node, i) => setText(node, stats.findings[i].words));
		failed.forEach((one) => one.update(stats));
		if (!body.firstChild) build(stats);
		fill(hot.lastChild, stats.hot_keys?.length ?? 0, hotKey);
		refresh(body, stats);
		const frame = newFrame(state.points[what].get(name));
		view.charts.forEach((chart) => chart.draw(frame));
	};
	return view;
}
