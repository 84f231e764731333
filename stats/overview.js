// The tables of all caches and wheels.

import {state, store} from './state.js';
import {kindOf} from './numbers.js';
import {html, box, button, setText, set, find, refresh, cell, explained} from './elements.js';
import {newFrame, newSpark} from './curves.js';
import {newFindings, levelOf} from './findings.js';

// A column: title, note, path of its field, and perhaps the field of its spark.
export const columns = {
	caches: [
		['Cache', 'name', 'name'],
		['Hit ratio', '10 s', 'windows.10s.hit_ratio', 'hit_ratio'],
		['Hit ratio', '5 min', 'windows.5m.hit_ratio'],
		['Requests', '10 s', 'windows.10s.gets_per_second', 'gets'],
		['Entries', 'of limit', 'entries'],
		['Evicted', '1 min', 'windows.1m.evicted'],
		['Waited', 'p99, 1 min', 'windows.1m.wait_p99_seconds'],
		['Load time', 'p99, 1 min', 'windows.1m.load_p99_seconds'],
		['Loads failed', '10 s', 'windows.10s.loads_failed'],
		['Loads running', 'now', 'loads.running'],
	],
	wheels: [
		['Timing wheel', 'name', 'name'],
		['Pending', 'timers', 'pending'],
		['Backlog', 'callbacks', 'backlog'],
		['Running', 'callbacks', 'running'],
		['Fired', 'in all', 'fired', 'fired'],
		['Lateness', 'p99, in all', 'lateness_p99_seconds'],
		['Panics', 'in all', 'panics'],
	],
};

function newTable(what) {
	const rows = new Map(); // by name
	const sort = state.sort[what];
	const sortBy = (column) => { // names start with A, numbers with the greatest
		sort.down = sort.column === column ? !sort.down : column > 0;
		sort.column = column;
		store();
		order();
	};
	const heads = columns[what].map(([title, note], i) =>
		html('th', explained(title), button(() => sortBy(i), title + ' ', html('small', {}, note))));
	const body = html('tbody');
	const node = html('table', {class: 'card list', 'aria-label': what}, html('thead', {}, html('tr', {}, ...heads)), body);

	const order = () => {
		const path = columns[what][sort.column][2];
		const key = ({stats}) => find(stats, path)[0];
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

const compare = (a, b) => (a > b) - (a < b);

function newRow(what, name) {
	const sparks = [];
	const cells = columns[what].slice(1).map(([title, note, path, field]) => {
		const spark = field && newSpark(kindOf(path), field);
		if (spark) sparks.push(spark);
		return html('td', {'data-title': title + ', ' + note}, spark?.node ?? '', cell(path));
	});
	const link = html('a', {href: '#/' + what.slice(0, -1) + '/' + encodeURIComponent(name), 'data-field': 'name'}, name);
	const cause = html('small', {'data-needs': 'findings', 'data-field': 'findings.0.cause'});
	const node = html('tr', {'data-name': name},
		html('th', {scope: 'row'}, link, html('small', {'data-needs': 'quiet'}, 'no traffic yet'), cause), ...cells);
	const row = {node, update(stats) {
		row.stats = stats;
		node.hidden = !name.toLowerCase().includes(state.filter);
		set(cause, 'class', levelOf(stats.findings?.[0]));
		refresh(node, stats);
		const frame = newFrame(state.points[what].get(name));
		sparks.forEach((spark) => spark.update(frame));
	}};
	return row;
}

export const newNotice = () => box('p', 'notice', 'No answer yet.');

export function newOverview() {
	const tables = [newTable('caches'), newTable('wheels')];
	const findings = newFindings((f) => f.name.toLowerCase().includes(state.filter));
	const notice = newNotice();
	const node = html('div', {}, findings.node, notice, ...tables.map((table) => table.node));
	const update = () => {
		findings.update();
		tables.forEach((table) => table.update());
		const rows = tables.flatMap((table) => [...table.rows.values()]);
		notice.hidden = rows.some((row) => !row.node.hidden);
		setText(notice, rows.length ? 'No name has this in it.' :
			'No cache is registered. A cache or timing wheel is here until it is closed or collected.');
	};
	const first = () => {
		if (state.json) update(); // it may be behind another view
		return node.querySelector('tbody tr:not([hidden]) a');
	};
	return {node, update, first};
}
