// Elements, and the fields of the statistics that they show.

import {none, kindOf} from './numbers.js';

function fit(node, attributes, children) {
	for (const name in attributes) node.setAttribute(name, attributes[name]);
	node.append(...children);
	return node;
}

export const html = (tag, attributes, ...children) => fit(document.createElement(tag), attributes, children);
export const box = (tag, name, ...children) => html(tag, {class: name}, ...children);
export const svg = (tag, attributes, ...children) =>
	fit(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

export function button(act, ...children) {
	const node = html('button', {type: 'button'}, ...children);
	node.onclick = act;
	return node;
}

// These write only what differs: what stands still can be selected.
export function setText(node, text) {
	if (node.textContent !== text) node.textContent = text;
}

export function set(node, name, value) {
	if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

// fill gives parent so many children, and returns them.
export function fill(parent, length, make) {
	while (parent.childElementCount > length) parent.lastChild.remove();
	while (parent.childElementCount < length) parent.append(make(parent.childElementCount));
	return [...parent.children];
}

export const compare = (a, b) => (a > b) - (a < b);

// arrange gives parent a child for each item, by its name, and returns them in the order of items. While
// somebody points at a child, or has the focus or a selection in it, all stay where they are, unless now.
export function arrange(parent, items, make, now) {
	const before = new Map([...parent.children].map((node) => [node.dataset.name, node]));
	const nodes = items.map(({name}) => before.get(name) ?? make(name));
	const wanted = new Set(nodes);
	[...parent.children].forEach((node) => wanted.has(node) || node.remove());
	const {anchorNode, isCollapsed} = getSelection();
	const inUse = parent.matches(':hover, :focus-within') || !isCollapsed && parent.contains(anchorNode);
	let next = inUse && !now ? null : parent.firstChild; // what is new comes last then
	for (const node of nodes) {
		if (node === next) next = next.nextSibling;
		else if (next || !node.parentNode) parent.insertBefore(node, next);
	}
	return nodes;
}

// showNumber shows v readably, and in the title exactly.
export function showNumber(node, v, kind, owner) {
	setText(node, v == null ? none : typeof v === 'number' ? kind.text(v, owner) : v === true ? 'yes' : [].concat(v).join(', '));
	node.classList.toggle('zero', !v);
	set(node, 'data-value', v ?? '');
	set(node, 'title', v ?? '');
}

// find returns the field at path, and its owner.
export function find(stats, path) {
	const steps = path.split('.');
	const last = steps.pop();
	const owner = steps.reduce((object, step) => object?.[step], stats);
	return [owner?.[last], owner];
}

// refresh updates all below root: data-field is the path of what an element shows,
// data-needs of what it is hidden without (an empty list is nothing), data-part of how wide it is.
export function refresh(root, stats) {
	const each = (name, act) => root.querySelectorAll(`[data-${name}]`).forEach((node) => act(node, node.dataset[name]));
	each('field', (node, path) => {
		const [v, owner] = find(stats, path);
		showNumber(node, v, kindOf(path), owner);
		node.classList.toggle('bad', v > 0 && /10s.*(failed|timed_out|refused)|panics|overdue/.test(path));
	});
	each('needs', (node, path) => node.hidden = !(find(stats, path)[0]?.length ?? find(stats, path)[0]));
	each('part', (node, paths) => {
		const [part, whole = 1] = paths.split('/').map((path) => find(stats, path)[0]);
		node.style.width = Math.min(100, 100 * part / whole) + '%';
	});
}

export const field = (path) => html('span', {'data-field': path});
export const bar = (paths) => box('span', 'bar', html('i', {'data-part': paths}));

// fullness shows what and, if there is a limit, of how much and a bar.
const fullness = (what, limit) => box('span', 'fullness', field(what),
	html('span', {'data-needs': limit}, ' / ', field(limit), bar(what + '/' + limit)));

// cell shows the field at path; with entries it shows the weight of a weighted cache.
export const cell = (path) => path !== 'entries' ? field(path) : html('span', {}, fullness(path, 'limit'),
	html('small', {'data-needs': 'max_weight'}, 'weight ', fullness('weight', 'max_weight')));

const meanings = {
	absent: 'keys that were neither evicted nor expired recently: they were not there recently',
	joined: 'callers that waited for the load of another caller',
	skipped: 'refreshes that did not begin: MaxLoads gave no permit, or another load of the key ran',
	'by old values': 'answers by a value past its deadline, in its Grace',
	'permit, 99 % within': 'how long loads waited for a permit of MaxLoads',
	Waited: 'callers, for a result that was not in the cache: by loads of their own or of others',
	tombstones: 'removed entries that the timing wheel has not reached yet',
	unconfirmed: 'keys loaded while the source of changes had not vouched that memory was up to date',
};

// explained returns the attributes for a word that not all know.
export const explained = (word) => meanings[word] ? {title: meanings[word]} : {};
