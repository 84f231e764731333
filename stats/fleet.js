// The instances of a service side by side: a table for each cache, a row for each instance. What
// differs most is first.

import {base} from './state.js';
import {html, box, button, setText, set, fill, refresh, cell} from './elements.js';

const columns = [ // title, and path of its field
	['Hit ratio', 'last.hit_ratio'], ['Requests', 'last.gets'], ['Entries', 'entries'], ['Loads', 'last.loads'], ['Failed', 'last.loads_failed'],
	['Timed out', 'last.loads_timed_out'], ['Load time, p99', 'last.load_p99_seconds'], ['Wait, p99', 'last.wait_p99_seconds'],
];
const measures = [ // what is compared: name, what never matters, and the number of a row or null; more is worse
	['hit ratio', 0.05, ({last: l}) => l.gets >= 100 ? 1 - l.hit_ratio : null],
	['share of failed loads', 0.05, ({last: l}) => l.loads >= 5 ? l.loads_failed / l.loads : null],
	['load time', 2, ({last: l}) => l.loads >= 5 ? Math.log2(l.load_p99_seconds + 0.001) : null],
];
const weights = {critical: 1000, warning: 100, advice: 1}; // of findings; a measure weighs at most 20
const few = 5; // tables that are unfolded, if their score is 1 or more; rows of each, unless all are asked for

const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];

// above returns by how much own is above the median of the others, in units of what is usual among these.
function above(own, others, least) {
	if (own === null || !others.length) return 0;
	const middle = median(others), usual = median(others.map((v) => Math.abs(v - middle)));
	return Math.min(20, Math.max(0, own - middle) / Math.max(least, usual));
}

// judge gives a row its score among the rows of its cache, and words that say why.
function judge(rows, row) {
	row.words = row.findings.map((one) => one.cause);
	row.score = row.findings.reduce((sum, {level}) => sum + (weights[level] ?? weights.warning), 0);
	for (const [name, least, number] of measures) {
		const v = above(number(row), rows.filter((other) => other !== row).map(number).filter((n) => n !== null), least);
		row.score += v;
		if (v >= 1) row.words.push(name + ' differs');
	}
}

// byCache returns the caches with their rows, both sorted.
function byCache(instances) {
	const caches = new Map();
	for (const instance of instances) {
		for (const cache of instance.caches ?? []) {
			const last = cache.windows['1m'];
			last.gets = last.hits + last.misses;
			const findings = [...cache.findings ?? [], ...instance.process.findings ?? []].filter((one) => !one.ended_seconds);
			if (!caches.has(cache.name)) caches.set(cache.name, {key: cache.name, rows: []});
			caches.get(cache.name).rows.push({...cache, key: instance.peer, instance, last, findings});
		}
	}
	const first = (a, b) => b.score - a.score || (a.key > b.key) - (a.key < b.key);
	for (const cache of caches.values()) {
		cache.rows.forEach((row) => judge(cache.rows, row));
		cache.score = cache.rows.sort(first)[0].score;
	}
	return [...caches.values()].sort(first);
}

// arrange gives parent a child for each item, and returns them. While somebody points at one they stay
// where they are.
function arrange(parent, items, make) {
	const before = new Map([...parent.children].map((node) => [node.dataset.name, node]));
	const nodes = items.map(({key}) => before.get(key) ?? make(key));
	if (!parent.matches(':hover, :has(:focus-visible)') || nodes.some((node) => !node.parentNode)) {
		nodes.forEach((node, i) => node !== parent.children[i] && parent.insertBefore(node, parent.children[i] ?? null));
	}
	[...parent.children].forEach((node) => nodes.includes(node) || node.remove());
	return nodes;
}

const newRow = (key) => html('tr', {'data-name': key},
	html('th', {scope: 'row'}, html('a'), html('small'), html('small')),
	...columns.map(([title, path]) => html('td', {'data-title': title}, cell(path))));

function showRow(node, row) {
	const {instance: {peer, self, host, program, process}, findings, name} = row;
	const [link, about, wrong] = node.firstChild.children;
	const {port} = peer && URL.canParse(peer) ? new URL(peer) : base;
	setText(link, host + (port && ':' + port));
	set(link, 'href', (peer && !self ? peer : '') + '#/cache/' + encodeURIComponent(name));
	const started = process.started && 'since ' + new Date(process.started).toLocaleString('en-GB');
	setText(about, [self && 'this instance', program, process.version, started].filter(Boolean).join(', '));
	setText(wrong, row.words.join(', '));
	set(wrong, 'title', findings.map((one) => one.words).join(' '));
	wrong.classList.toggle('bad', findings.some((one) => one.level !== 'advice'));
	refresh(node, row);
}

const newCache = (key) => html('details', {'data-name': key}, html('summary', {}, html('h2', {}, key), ' ', html('small')),
	html('table', {class: 'card list', 'aria-label': key},
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
		fill(failed, silent.length, () => box('li', 'bad')).forEach((node, i) => setText(node, `${silent[i].peer}: ${silent[i].error}`));
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
	return {title: 'Fleet – pinwheel', head, node: html('div', {}, html('a', {href: '#/'}, '‹ Overview'), head, notice, failed, tables), update};
}
