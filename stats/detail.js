// One cache or wheel.

import {base, state} from './state.js';
import {percent, count, rate, stacked, seconds, span, dated} from './numbers.js';
import {html, box, setText, set, fill, refresh, field, bar, cell, explained} from './elements.js';
import {newFrame} from './curves.js';
import {Chart} from './chart.js';
import {newPurge, newTune, newRecorder} from './forms.js';
import {newFindings} from './findings.js';
import {columns} from './overview.js';

// A chart: id, title, kind, and curves (name:field, or both in one).
const charts = {
	caches: [
		['hit-ratio', 'Hit ratio', percent, 'hits:hit_ratio'],
		['requests', 'Requests by result', stacked, 'hits absent:misses_absent expired:misses_expired evicted:misses_evicted'],
		['load', 'Load time, and what callers waited', seconds, 'load,-p99:load_p99_seconds load,-p50:load_p50_seconds waited,-p99:wait_p99_seconds'],
		['loads', 'Loads and sets', rate, 'loads failed:loads_failed timed-out:loads_timed_out not-found:loads_not_found sets'],
		['waits', 'Callers that waited', rate, 'waited:waits joined:load_waiters got-an-error:waits_refused gave-up:loads_abandoned'],
		['running', 'Loads that run', count, 'running:loads_running queued:loads_queued'],
		['entries', 'Entries', count, 'entries limit'],
		['weight', 'Weight', count, 'weight limit:max_weight'],
		['removals', 'Removals by cause', stacked, 'expired evicted deleted replaced cleared'],
		['evicted-age', 'Age at eviction', seconds, 'p99:evicted_age_p99_seconds p50:evicted_age_p50_seconds'],
		['refreshes', 'Refreshes', rate, 'done:refreshes failed:refreshes_failed skipped:refreshes_skipped in-grace:hits_in_grace'],
		['callbacks', 'Callback backlog', count, 'queued:callbacks_queued running:callbacks_running panics:callback_panics'],
		['lateness', 'Expiry lateness', seconds, 'p99:lateness_p99_seconds p50:lateness_p50_seconds'],
		['tombstones', 'Expiry wheel', count, 'pending:expiry_pending overdue:expiry_overdue tombstones'],
		['near-answers', 'Near: answers from', stacked, 'memory:hits store:near.remote_hits fetched:near.fetches past-store:near.bypasses'],
		['near-lag', 'Near: lag of the source', seconds, 'lag:near.lag_seconds behind:near.behind_seconds limit:near.max_lag_seconds'],
		['near-changes', 'Near: changes', rate, 'reported:near.changes waited-for:near.waits fetched-in-vain:near.overtaken'],
		['near-trouble', 'Near: trouble', count, 'connections-lost:near.reconnects store-errors:near.store_errors undecodable:near.undecodable not-tried:near.unasked unconfirmed:near.unserved older-values:near.served_on'],
	],
	wheels: [
		['pending', 'Timers', count, 'pending tombstones'],
		['timers', 'Fired, started, removed', rate, 'fired started removed'],
		['moves', 'Moves, and what they cost', rate, 'moved looked-at:visits put-into-another-slot:relinks refused-at-the-limit:refused'],
		['backlog', 'Callback backlog', count, 'backlog running panics'],
		['lateness', 'Lateness', seconds, 'p99:lateness_p99_seconds p50:lateness_p50_seconds'],
	],
};

const newTile = ([title, note, path]) =>
	box('div', 'tile', html('h2', explained(title), title, ' ', html('small', {}, note)), cell(path));

// happened has what a cache did: words, and the field of a window. Without any in 5 min it is not shown.
const happened = [
	['requests', 'gets'], ['hits', 'hits'], ['by old values', 'hits_in_grace'], ['misses', 'misses'],
	['callers that waited', 'waits'], ['got an error', 'waits_refused'], ['gave up', 'loads_abandoned'],
	['waited, median', 'wait_p50_seconds'], ['waited, 99 % within', 'wait_p99_seconds'],
	['loads', 'loads'], ['failed', 'loads_failed'], ['timed out', 'loads_timed_out'], ['found no value', 'loads_not_found'],
	['load time, median', 'load_p50_seconds'], ['load time, 99 % within', 'load_p99_seconds'],
	['permit, 99 % within', 'permit_wait_p99_seconds'], ['store, 99 % within', 'store_read_p99_seconds'],
];

const newSheet = (title, heads, rows) => box('table', 'card sheet', html('caption', {}, html('h2', {}, title)),
	html('tr', {}, html('th'), ...heads.map((head) => html('th', {}, head))), ...rows);
const newRow = (needs, words, ...paths) => html('tr', {'data-needs': needs}, html('th', {scope: 'row', ...explained(words)}, words), ...paths.map((path) => html('td', {}, field(path))));

const newWindows = () => newSheet('In the last', ['10\u00a0s', '1\u00a0min', '5\u00a0min'], happened.map(([words, name]) =>
	newRow('windows.5m.' + name, words, ...['10s', '1m', '5m'].map((time) => `windows.${time}.${name}`))));

// newSettings shows options by the names that they have in Go. What is not set is not shown.
const newSettings = (settings) => newSheet('Settings', [''], [
	...['limit', 'max_weight', ...Object.keys(settings).map((name) => 'settings.' + name)].map((path) =>
		newRow(path, path.replace(/^settings\.|_seconds$/g, '').replace(/(^|_)(.)/g, (all, _, letter) => letter.toUpperCase()), path)),
	newRow('tuned', 'Changed at run time, until a restart', 'tuned')]);

const newBars = (needs, title, ...rows) => html('section', {class: 'card bars', 'data-needs': needs},
	html('h2', {}, title), html('ol', {tabindex: 0, 'aria-label': title}, ...rows));
const newBar = (word, path) => html('li', {}, word, field(path), bar(path));
const hotKey = (i) => newBar(field(`hot_keys.${i}.key`), `hot_keys.${i}.share`);
const whatIf = (word, path) => newBar(html('span', {}, word + ', ', field(path + 'limit')), path + 'hit_ratio');

// newKeys returns a list of keys whose loads fail or are slow: a number, how long ago that began, and the last error.
function newKeys(path, title, main, age) {
	const node = newBars(path, title);
	const newItem = () => html('li', {}, html('span'), html('span'), html('small'));
	node.update = (stats) => fill(node.lastChild, stats[path]?.length ?? 0, newItem).forEach((item, i) => {
		const k = stats[path][i], [key, number, more] = item.children;
		setText(key, k.key || k.hash);
		set(key, 'title', 'hash ' + k.hash);
		setText(number, main(k));
		setText(more, [age(span((Date.parse(state.json.time) - Date.parse(k.since)) / 1000)), k.text || k.type].filter(Boolean).join(' · '));
	});
	return node;
}

const failures = {last_load_error: 'A load failed', last_store_error: 'The store failed', last_source_error: 'The source of changes lost its connection'};

export function newDetail(what, name) {
	const notice = box('p', 'notice', 'No answer yet.');
	const head = html('h1', {tabindex: -1}, name);
	const body = html('div', {'data-name': name});
	const hot = newBars('hot_keys', 'Hottest keys, share of gets');
	const bad = [
		newKeys('failing_keys', 'Keys whose loads fail', (k) => k.failed + ' in a row', (age) => 'for ' + age),
		newKeys('slow_keys', 'Slowest keys', (k) => k.running ? 'runs for ' + span(k.took_seconds) : seconds.text(k.took_seconds), (age) => `began ${age} ago`)];
	const kind = what.slice(0, -1), address = encodeURIComponent(name);
	const findings = newFindings((f) => f.href === `#/${kind}/${address}`, true);
	const view = {name, head, charts: charts[what].map((spec) => new Chart(spec))};
	const build = (stats) => {
		const other = stats.settings?.policy === 'adaptive' ? 'as it is, with LRU' : 'as it is, with Adaptive';
		const ifs = Object.entries({half: 'half', same: 'as it is', double: 'double', other_policy: other}).map(([name, word]) => whatIf(word, `what_if.${name}.`));
		const cards = [...bad, hot, newBars('what_if', 'Hit ratio if the limit were', ...ifs), newSettings(stats.settings ?? {})];
		if (stats.windows) cards.unshift(newWindows());
		body.append(
			box('div', 'card tiles', ...columns[what].slice(1).map(newTile)),
			box('div', 'cards', ...cards),
			box('div', 'charts', ...view.charts.map((chart) => chart.figure)),
			box('div', 'charts', newPurge(name), newTune(name), newRecorder(name)));
	};
	const since = html('span'), failed = box('div', 'failed');
	const all = html('a', {href: new URL(`stats.json?${kind}=${address}`, base)}, 'All numbers');
	view.node = html('div', {}, html('a', {href: '#/'}, '‹ Overview'), head, findings, failed, notice, body, html('p', {}, all, ' ', since));
	view.update = () => {
		const stats = state.json[what].find((s) => s.name === name);
		body.hidden = !stats;
		notice.hidden = stats && !stats.quiet;
		setText(notice, stats ? 'No traffic yet.' : `No longer among the ${what}: it was closed or collected.`);
		findings.update();
		if (!stats) return;
		if (stats.since) setText(since, `since ${dated(stats.since)}.`);
		const known = Object.keys(failures).filter((name) => stats[name]);
		fill(failed, known.length, () => html('p')).forEach((node, i) => {
			const {time, type, text} = stats[known[i]];
			setText(node, `${failures[known[i]]} last on ${dated(time)}: ${text || 'error of type ' + type}`);
		});
		if (!body.firstChild) build(stats);
		bad.forEach((keys) => keys.update(stats));
		fill(hot.lastChild, stats.hot_keys?.length ?? 0, hotKey);
		refresh(body, stats);
		const frame = newFrame(state.points[what].get(name));
		view.charts.forEach((chart) => chart.draw(frame));
	};
	return view;
}
