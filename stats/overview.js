// The tables of all caches and wheels.

import {state, store} from './state.js';
import {kindOf} from './numbers.js';
import {html, box, button, setText, set, find, refresh, cell, explained, arrange, compare} from './elements.js';
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
	const sort = state.sort[what];
	const heads = columns[what].map(([title, note], i) =>
		html('th', explained(title), button(() => sortBy(i), title + ' ', html('small', {}, note))));
	const body = html('tbody');
	const node = html('table', {class: 'card list', 'aria-label': what}, html('thead', {}, html('tr', {}, ...heads)), body);
	node.update = (now) => {
		const path = columns[what][sort.column][2];
		const key = (stats) => find(stats, path)[0] ?? -1;
		const all = state.json[what].toSorted((a, b) => (sort.down ? -1 : 1) * compare(key(a), key(b)) || compare(a.name, b.name));
		heads.forEach((head, i) =>
			set(head, 'aria-sort', i !== sort.column ? 'none' : sort.down ? 'descending' : 'ascending'));
		arrange(body, all, (name) => newRow(what, name), now).forEach((row, i) => row.update(all[i]));
	};
	const sortBy = (column) => { // names start with A, numbers with the greatest
		sort.down = sort.column === column ? !sort.down : column > 0;
		sort.column = column;
		store();
		node.update(true);
	};
	return node;
}

function newRow(what, name) {
	const cells = columns[what].slice(1).map(([title, note, path, field]) =>
		html('td', {'data-title': title + ', ' + note}, field ? newSpark(kindOf(path), field) : '', cell(path)));
	const link = html('a', {href: '#/' + what.slice(0, -1) + '/' + encodeURIComponent(name), 'data-field': 'name'}, name);
	const cause = html('small', {'data-needs': 'findings', 'data-field': 'findings.0.cause'});
	const node = html('tr', {'data-name': name},
		html('th', {scope: 'row'}, link, html('small', {'data-needs': 'quiet'}, 'no traffic yet'), cause), ...cells);
	node.update = (stats) => {
		node.hidden = !name.toLowerCase().includes(state.filter);
		set(cause, 'class', levelOf(stats.findings?.[0]));
		refresh(node, stats);
		const frame = newFrame(state.points[what].get(name));
		node.querySelectorAll('.spark').forEach((spark) => spark.draw(frame));
	};
	return node;
}

const shown = 'tbody tr:not([hidden])'; // the rows that the filter leaves

export function newOverview() {
	const tables = [newTable('caches'), newTable('wheels')];
	const findings = newFindings((f) => f.name.toLowerCase().includes(state.filter));
	const notice = box('p', 'notice', 'No answer yet.');
	const node = html('div', {}, findings, notice, ...tables);
	const update = () => {
		findings.update();
		tables.forEach((table) => table.update());
		const {caches, wheels} = state.json;
		notice.hidden = Boolean(node.querySelector(shown));
		setText(notice, caches.length + wheels.length ? 'No name has this in it.' :
			'No cache is registered. A cache or timing wheel is here until it is closed or collected.');
	};
	const first = () => {
		if (state.json) update(); // it may be behind another view
		return node.querySelector(shown + ' a');
	};
	return {node, update, first};
}
