// The tables of all caches and wheels.

import {state, store, show} from './state.js';
import {kindOf} from './numbers.js';
import {html, box, button, setText, set, find, refresh, cell} from './elements.js';
import {newFrame, newSpark} from './curves.js';

// A column: title, note, path of its field, and perhaps the field of its spark. A column of
// main is also on the card that a row becomes on a narrow screen.
const main = new Set(['windows.1m.hit_ratio', 'windows.1m.gets_per_second', 'windows.5m.load_p99_seconds',
	'pending', 'backlog', 'lateness_p99_seconds']);
export const columns = {
	caches: [
		['Cache', 'name', 'name'],
		['Hit ratio', '1 min', 'windows.1m.hit_ratio', 'hit_ratio'],
		['Hit ratio', '5 min', 'windows.5m.hit_ratio'],
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
	// Names start with A, numbers with the greatest.
	const sortBy = (column, down = sort.column === column ? !sort.down : column > 0) => {
		sort.down = down;
		sort.column = column;
		store();
		order();
	};
	const heads = columns[what].map(([title, note], i) =>
		html('th', {}, button(() => sortBy(i), title + ' ', html('small', {}, note))));
	const select = html('select', {'aria-label': `Sort ${what} by`}, // for a narrow screen, without the headings
		html('option', {value: -1}, 'Findings first'),
		...columns[what].map(([title, note], i) => html('option', {value: i}, `${title}, ${note}`)));
	select.onchange = () => sortBy(Number(select.value), select.value > 0);
	const body = html('tbody');
	const table = html('table', {class: 'card list', 'aria-label': what}, html('thead', {}, html('tr', {}, ...heads)), body);
	const node = html('div', {}, select, table);

	const order = () => {
		const path = columns[what][sort.column]?.[2];
		select.value = sort.column;
		const key = ({stats}) => path ? find(stats, path)[0] : -rank(stats);
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

// rank is 2 with trouble, 1 with advice, and 0 with no finding, or only accepted ones. The first finding is the worst.
const rank = ({findings}) => ({trouble: 2, advice: 1})[findings?.[0]?.severity] ?? 0;

// hurts reports whether something is wrong now: advice, or that a cache is new, does not count.
const hurts = (stats) => rank(stats) === 2;

const compare = (a, b) => (a > b) - (a < b);

function newRow(what, name) {
	const sparks = [];
	const cells = columns[what].slice(1).map(([title, note, path, field]) => {
		const spark = field && newSpark(kindOf(path), field);
		if (spark) sparks.push(spark);
		return html('td', {'data-title': title + ', ' + note, class: main.has(path) ? 'main' : 'more'}, spark?.node ?? '', cell(path));
	});
	const link = html('a', {href: '#/' + what.slice(0, -1) + '/' + encodeURIComponent(name), 'data-field': 'name'}, name);
	const finding = html('small', {'data-needs': 'findings.0', 'data-field': 'findings.0.cause'});
	const node = html('tr', {'data-name': name},
		html('th', {scope: 'row'}, link, html('small', {'data-needs': 'quiet'}, 'no traffic yet'), finding), ...cells);
	const row = {node, update(stats) {
		row.stats = stats;
		node.hidden = !name.toLowerCase().includes(state.filter) || state.troubled && !hurts(stats);
		refresh(node, stats);
		finding.classList.toggle('bad', hurts(stats));
		const frame = newFrame(state.points[what].get(name));
		sparks.forEach((spark) => spark.update(frame));
	}};
	return row;
}

export const newNotice = () => box('p', 'notice', 'No answer yet.');

export function newOverview() {
	const tables = [newTable('caches'), newTable('wheels')];
	const filter = html('input', {type: 'search', placeholder: 'Filter by name', 'aria-label': 'Filter by name'});
	const notice = newNotice();
	const troubled = button(() => {
		state.troubled = !state.troubled;
		show();
	});
	const node = html('div', {}, box('p', 'summary', filter, troubled), notice, ...tables.map((table) => table.node));
	const update = () => {
		tables.forEach((table) => table.update());
		const rows = tables.flatMap((table) => [...table.rows.values()]);
		const found = tables[0].rows.size && [...tables[0].rows.values()].filter(({stats}) => hurts(stats)).length;
		troubled.hidden = !found && !state.troubled;
		setText(troubled, `${found} of ${tables[0].rows.size} in trouble`);
		set(troubled, 'aria-pressed', state.troubled);
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
	return {title: '', node, filter, update};
}
