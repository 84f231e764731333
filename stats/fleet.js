// The instances of a service side by side: a table for each cache, a row for each instance. What
// differs most is first.

import {base} from './state.js';
import {html, box, button, setText, set, fill, refresh, cell, arrange, compare} from './elements.js';

const columns = [ // title, and path of its field
	['Hit ratio', 'last.hit_ratio'], ['Requests', 'last.gets'], ['Entries', 'entries'], ['Loads', 'last.loads'], ['Failed', 'last.loads_failed'],
	['Timed out', 'last.loads_timed_out'], ['Load time, p99', 'last.load_p99_seconds'], ['Wait, p99', 'last.wait_p99_seconds'],
];
const measures = [ // what is compared: name, what never matters, and the number of a minute, if it says something; more is worse
	['hit ratio', 0.05, (m) => m.gets >= 100 ? 1 - m.hit_ratio : NaN],
	['share of failed loads', 0.05, (m) => m.loads >= 5 ? m.loads_failed / m.loads : NaN],
	['load time', 2, (m) => m.loads >= 5 ? Math.log2(m.load_p99_seconds + 0.001) : NaN],
];
const weights = {critical: 1000, warning: 100, advice: 1}; // of findings, the most urgent first; a measure weighs at most 20
const few = 5; // tables that are unfolded, if their score is 1 or more; rows of each, unless all are asked for

const sorted = (all) => all.filter((v) => !isNaN(v)).sort((a, b) => a - b);

// judge adds to the scores of rows, and to the words that say why, by how much each is above the median of
// the others, in units of what is usual among these.
function judge(rows, [name, least, number]) {
	const numbers = rows.map(({last}) => number(last ?? {}));
	const all = sorted(numbers);
	const middle = (all.length - 1) >> 1; // where the median of the others is, for all above it
	const apart = sorted(all.map((v) => Math.abs(v - all[middle])));
	rows.forEach((row, i) => {
		const more = numbers[i] - all[middle];
		if (!(more > 0)) return;
		const usual = apart[more > apart[middle] ? middle : middle + 1]; // without its own
		const v = Math.min(20, more / Math.max(least, usual));
		row.score += v;
		if (v >= 1) row.words.push(name + ' differs');
	});
}

const first = (a, b) => b.score - a.score || compare(a.name, b.name);

// byCache returns the caches with their rows, both sorted.
function byCache(instances) {
	const caches = new Map();
	for (const instance of instances) {
		for (const cache of instance.caches ?? []) {
			const minute = cache.windows?.['1m']; // an old version may have none
			const last = minute && {gets: minute.hits + minute.misses, ...minute};
			const findings = [...cache.findings ?? [], ...instance.process.findings ?? []].filter((one) => !one.ended_seconds);
			const score = findings.reduce((sum, {level}) => sum + (weights[level] ?? weights.warning), 0);
			if (!caches.has(cache.name)) caches.set(cache.name, {name: cache.name, rows: []});
			caches.get(cache.name).rows.push({...cache, cache: cache.name, name: instance.peer, instance, last, findings, score, words: findings.map((one) => one.cause)});
		}
	}
	for (const cache of caches.values()) {
		measures.forEach((measure) => judge(cache.rows, measure));
		cache.score = cache.rows.sort(first)[0].score;
	}
	return [...caches.values()].sort(first);
}

const newRow = (peer) => html('tr', {'data-name': peer},
	html('th', {scope: 'row'}, html('a'), html('small'), html('small')),
	...columns.map(([title, path]) => html('td', {'data-title': title}, cell(path))));

function showRow(node, row) {
	const {instance: {peer, self, host, program, process}, findings, cache} = row;
	const [link, about, wrong] = node.firstChild.children;
	const {port} = peer && URL.canParse(peer) ? new URL(peer) : base;
	setText(link, host + (port && ':' + port));
	set(link, 'href', (peer && !self ? peer : '') + '#/cache/' + encodeURIComponent(cache));
	const started = process.started && 'since ' + new Date(process.started).toLocaleString('en-GB');
	setText(about, [self && 'this instance', program, process.version, started].filter(Boolean).join(', '));
	setText(wrong, row.words.join(', '));
	set(wrong, 'title', findings.map((one) => one.words).join(' '));
	set(wrong, 'class', Object.keys(weights).find((level) => findings.some((one) => one.level === level)) ?? '');
	refresh(node, row);
}

const newCache = (name) => html('details', {'data-name': name}, html('summary', {}, html('h2', {}, name), ' ', html('small')),
	html('table', {class: 'card list', 'aria-label': name},
		html('thead', {}, html('tr', {}, ...['Instance', ...columns.map(([title]) => title)].map((title) => html('th', {}, title)))), html('tbody')),
	button(null, 'All instances'));

function showCache(node, {rows, score}, i) {
	const [summary, table, more] = node.children;
	summary.onclick = () => node.dataset.chosen = ''; // to fold it or not
	if (i < few && (i === 0 || score >= 1) && !('chosen' in node.dataset)) node.open = true;
	const [{words, instance}] = rows;
	setText(summary.lastChild, `${rows.length} instances` + (words.length ? `, ${instance.host}: ${words[0]}` : ''));
	const draw = () => {
		more.hidden = node.all || rows.length <= few;
		const shown = node.open ? rows.slice(0, more.hidden ? Infinity : few) : [];
		arrange(table.lastChild, shown, newRow).forEach((row, i) => showRow(row, shown[i]));
	};
	node.ontoggle = draw;
	more.onclick = () => (node.all = true, draw());
	draw();
}

export function newFleet() {
	const notice = box('p', 'notice', 'The instances are asked.');
	const failed = box('ul', 'findings'), tables = html('div');
	const head = html('h1', {tabindex: -1}, 'Fleet');
	const accept = ({error, instances}) => {
		const silent = instances.filter((one) => one.error);
		setText(notice, (error && `The list of instances: ${error}. `) + `${instances.length} instances, ${silent.length} of them without an answer. The numbers are of the last minute.`);
		fill(failed, silent.length, () => box('li', 'bad')).forEach((node, i) => setText(node, [silent[i].peer, silent[i].error].filter(Boolean).join(': ')));
		const caches = byCache(instances.filter((one) => !one.error));
		arrange(tables, caches, newCache).forEach((node, i) => showCache(node, caches[i], i));
	};
	let next = 0;
	const update = async () => {
		if (Date.now() < next) return;
		next = Infinity; // until it has answered
		try {
			const response = await fetch(new URL('fleet.json', base), {cache: 'no-store', signal: AbortSignal.timeout(30_000)});
			if (!response.ok) throw new Error('status ' + response.status);
			accept(await response.json());
		} catch (error) {
			setText(notice, `No answer (${error.message}).`);
		}
		next = Date.now() + 4000;
	};
	return {name: 'Fleet', head, node: html('div', {}, html('a', {href: '#/'}, '‹ Overview'), head, notice, failed, tables), update};
}
