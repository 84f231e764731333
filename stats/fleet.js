// This instance beside its peers: cache by cache, the one that differs most first.

import {state, base, place} from './state.js';
import {clock} from './numbers.js';
import {html, box, setText, fill, find, refresh, field, cell} from './elements.js';

// A column of an instance of a cache: title, note, path of its field. Those of main are on the card
// that a row becomes on a narrow screen.
const main = new Set(['windows.1m.hit_ratio', 'windows.1m.gets_per_second', 'windows.5m.load_p99_seconds']);
const columns = [
	['Hit ratio', '1 min', 'windows.1m.hit_ratio'],
	['Requests', '1 min', 'windows.1m.gets_per_second'],
	['Entries', 'of limit', 'entries'],
	['Load time', 'p99, 5 min', 'windows.5m.load_p99_seconds'],
	['Loads failed', '5 min', 'windows.5m.loads_failed'],
	['Loads running', 'now', 'loads.running'],
];

// What instances are compared by: words, and a number about 0 to 1, or none.
const measures = [
	['hit ratio', ({windows: {'1m': w}}) => w.gets ? w.hit_ratio : null],
	['failed loads', ({windows: {'5m': w}}) => w.loads ? w.loads_failed / w.loads : null],
	['load time', ({windows: {'5m': w}}) => w.loads ? Math.log10(w.load_p99_seconds + 1e-3) / 3 : null],
];
const differs = 0.15; // from the median; a load time by a factor of three

const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];

// compared returns the rows of a cache, each with by how much, and in what, it differs from the others.
function compared(rows) {
	const usual = measures.map(([, of]) => median(rows.map(({stats}) => of(stats)).filter((v) => v !== null)));
	for (const row of rows) {
		const apart = measures.map(([words, of], i) => [Math.abs((of(row.stats) ?? usual[i]) - usual[i]) || 0, words]);
		[row.apart, row.words] = apart.reduce((a, b) => b[0] > a[0] ? b : a);
	}
	return rows.sort((a, b) => b.apart - a.apart || (a.name > b.name) - (a.name < b.name));
}

// byCache returns the rows of all caches, those of one together.
function byCache(instances) {
	const caches = new Map();
	for (const {stats} of instances) {
		for (const cache of stats?.caches ?? []) {
			if (!caches.has(cache.name)) caches.set(cache.name, []);
			caches.get(cache.name).push({name: place(stats), stats: cache});
		}
	}
	return [...caches.values()].map(compared).sort((a, b) => b[0].apart - a[0].apart).flat();
}

const heading = (...titles) => html('thead', {}, html('tr', {}, ...titles.map(([title, note = '']) => html('th', {}, title + ' ', html('small', {}, note)))));

const newInstance = () => html('tr', {}, html('th', {scope: 'row'}), ...Array.from({length: 5}, () => html('td')));

function showInstance(node, {peer, away, stats}) {
	const hurt = stats?.caches.filter(({findings}) => findings[0]?.severity === 'trouble').length;
	const texts = stats ? [place(stats), stats.program, stats.release || '–', stats.pid, new Date(stats.started).toLocaleString('en-GB'),
		hurt ? `${hurt} of ${stats.caches.length} in trouble` : `${stats.caches.length} ${stats.caches.length === 1 ? 'cache' : 'caches'}`] : [peer, '', '', '', '', 'away: ' + away];
	[...node.children].forEach((child, i) => setText(child, String(texts[i])));
	node.lastChild.classList.toggle('bad', Boolean(hurt || away));
}

const newRow = () => html('tr', {},
	html('th', {scope: 'row'}, field('name'), html('small', {'data-needs': 'findings.0', 'data-field': 'findings.0.cause'})),
	html('td', {}, html('span'), html('small')),
	...columns.map(([title, note, path]) => html('td', {'data-title': title + ', ' + note, class: main.has(path) ? 'main' : 'more'}, cell(path))));

function showRow(node, {name, stats, apart, words}) {
	refresh(node, stats);
	const [place, note] = node.children[1].children;
	setText(place, name);
	setText(note, apart > differs ? 'differs: ' + words : '');
	node.firstChild.lastChild.classList.toggle('bad', find(stats, 'findings.0.severity')[0] === 'trouble');
}

export function newFleet() {
	const instances = html('tbody'), caches = html('tbody');
	const notice = box('p', 'notice', 'No answer yet.');
	const node = html('div', {}, html('a', {href: '#/'}, '‹ Overview'), html('h1', {tabindex: -1}, 'Fleet'), notice,
		html('table', {class: 'card list', 'aria-label': 'instances'},
			heading(['Instance'], ['Program'], ['Version'], ['Process'], ['Started'], ['State', 'now']), instances),
		html('table', {class: 'card list', 'aria-label': 'caches by instance'},
			heading(['Cache'], ['Instance'], ...columns), caches));
	let fleet = null; // the last answer
	const update = () => {
		if (!fleet || caches.matches(':hover')) return;
		const away = fleet.instances.filter((one) => one.away).length;
		setText(notice, `${fleet.instances.length} instances${away ? `, ${away} away` : ''}, at ${clock(Date.parse(fleet.instances[0].stats.time))}.`);
		fill(instances, fleet.instances.length, newInstance).forEach((row, i) => showInstance(row, fleet.instances[i]));
		const rows = byCache(fleet.instances);
		fill(caches, rows.length, newRow).forEach((row, i) => showRow(row, rows[i]));
	};
	const poll = async () => {
		const response = await fetch(new URL('fleet.json', base), {cache: 'no-store', signal: AbortSignal.timeout(8000)});
		if (!response.ok) throw new Error('status ' + response.status);
		fleet = await response.json();
		if (!state.paused) update();
	};
	return {title: 'Fleet', node, update, poll, head: node.querySelector('h1')};
}
