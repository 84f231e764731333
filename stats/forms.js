// Forms that change or record a cache, for those who may purge.

import {base} from './state.js';
import {sizes, digits, scaled, count, kindOf} from './numbers.js';
import {html, button, setText} from './elements.js';
import {poll} from './poll.js';

// newSure returns a button that acts at the second click only, which is another thought: no double click, nor
// Enter that is held.
function newSure(text, question, act) {
	let armed;
	const arm = (on) => {
		armed = on;
		setText(node, on ? question : text);
	};
	const node = button(({detail}) => {
		if (detail > 1) return;
		if (armed) act();
		arm(!armed);
	});
	node.onkeydown = (event) => event.repeat && event.preventDefault();
	node.onblur = () => arm(false);
	arm(false);
	return node;
}

// post sends a form, and returns the answer.
async function post(path, what) {
	const response = await fetch(new URL(path, base), {method: 'POST', body: new URLSearchParams(what)});
	const answer = await response.json().catch(() => ({})); // a proxy may answer otherwise
	if (!response.ok) throw new Error(answer.error ?? 'status ' + response.status);
	return answer;
}

// newPurge returns a form to remove one key or, after a second click, all.
export function newPurge(cache) {
	const key = html('input', {'data-needs': 'purgeable', 'aria-label': 'Key', placeholder: 'Key', autocomplete: 'off', spellcheck: false});
	const prefix = html('input', {'aria-label': 'Prefix', placeholder: 'Prefix of keys', autocomplete: 'off', spellcheck: false});
	const prefixed = button(() => prefix.value && send({prefix: prefix.value}), 'Purge by prefix');
	const all = newSure('Purge all…', 'Yes, remove all entries', () => send({all: 1}));
	const result = html('output');
	const node = html('form', {class: 'card', 'data-needs': 'purge'}, html('h2', {}, 'Purge'),
		html('p', {}, key, html('button', {'data-needs': 'purgeable'}, 'Purge key')),
		html('p', {'data-needs': 'purgeable_by_prefix'}, prefix, prefixed), html('p', {}, all), result);
	const send = async (what) => {
		setText(result, 'Purging.');
		try {
			const {removed, note} = await post('purge', {cache, ...what});
			setText(result, `Removed ${count.text(removed)}.${note ? ' ' + note : ''}`);
		} catch ({message}) {
			setText(result, `Not purged: ${message}.`);
		}
		poll();
	};
	node.onsubmit = (event) => {
		event.preventDefault();
		send({key: key.value});
	};
	return node;
}

// What can be changed, each with a hint.
const tunables = [['max_loads', 'Most loads at once', '10'], ['expire', 'Expire', '5m'], ['grace', 'Grace', '1m'], ['patience', 'Patience', '100ms']];

// newTune returns a form to change options of a cache until its process ends.
export function newTune(cache) {
	const inputs = tunables.map(([name, title, hint]) => html('input', {name, 'aria-label': title, placeholder: `${title}, such as ${hint}`, autocomplete: 'off', spellcheck: false}));
	const bypass = newSure('Bypass…', 'Yes, empty it and store nothing', () => send({bypass: 1}));
	const result = html('output');
	const node = html('form', {class: 'card', 'data-needs': 'purge'}, html('h2', {}, 'Change until the restart'),
		html('p', {}, ...inputs, html('button', {}, 'Change')), html('p', {}, bypass, button(() => send({bypass: 0}), 'End bypass')), result);
	const send = async (what) => {
		setText(result, 'Changing.');
		try {
			const now = Object.entries(await post('tune', {cache, ...what}));
			const text = (name, v) => typeof v === 'boolean' ? (v ? 'on' : 'off') : kindOf(name).text(v);
			setText(result, 'Now: ' + now.map(([name, v]) => name.replace(/_seconds$/, '').replaceAll('_', ' ') + ' ' + text(name, v)).join(', ') + '.');
		} catch ({message}) {
			setText(result, `Not changed: ${message}.`);
		}
		poll();
	};
	node.onsubmit = (event) => {
		event.preventDefault();
		send(Object.fromEntries(inputs.filter((one) => one.value).map((one) => [one.name, one.value])));
	};
	return node;
}

// newRecorder returns a form to record what the cache is asked for, and keep that as a file.
export function newRecorder(cache) {
	const input = (name, value, max) => html('input', {name, value, type: 'number', min: 1, max, required: true});
	const seconds = input('seconds', 60, 3600);
	const oneIn = input('one_in', 64, 1 << 20);
	const start = html('button', {}, 'Record');
	const result = html('output');
	const node = html('form', {class: 'card', 'data-needs': 'purge'}, html('h2', {}, 'Record for cachesim'),
		html('p', {}, html('label', {}, 'seconds ', seconds), ' ', html('label', {}, 'one key in ', oneIn), ' ', start), result);
	node.onsubmit = async (event) => {
		event.preventDefault();
		start.disabled = true;
		setText(result, `Recording for ${seconds.value} s: keep this page open.`);
		try {
			const body = new URLSearchParams({cache, seconds: seconds.value, one_in: oneIn.value});
			const response = await fetch(new URL('record', base), {method: 'POST', body});
			if (!response.ok) throw new Error((await response.json().catch(() => ({}))).error ?? 'status ' + response.status);
			const file = await response.blob();
			const href = URL.createObjectURL(file);
			html('a', {href, download: cache + '.recording'}).click();
			URL.revokeObjectURL(href);
			setText(result, `Recorded ${scaled(file.size, sizes, digits)}B.`);
		} catch ({message}) {
			setText(result, `Not recorded: ${message}.`);
		}
		start.disabled = false;
	};
	return node;
}
