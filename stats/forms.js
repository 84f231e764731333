// Forms that change or record a cache, for those who may purge.

import {base} from './state.js';
import {sizes, digits, scaled, count} from './numbers.js';
import {html, button, setText} from './elements.js';
import {poll} from './poll.js';

// newPurge returns a form to remove one key or, after a second click, all.
export function newPurge(cache) {
	const key = html('input', {'data-needs': 'purgeable', 'aria-label': 'Key', placeholder: 'Key', autocomplete: 'off', spellcheck: false});
	const prefix = html('input', {'aria-label': 'Prefix', placeholder: 'Prefix of keys', autocomplete: 'off', spellcheck: false});
	const prefixed = button(() => prefix.value && send({prefix: prefix.value}), 'Purge by prefix');
	const all = button(({detail}) => {
		if (detail > 1) return; // a double click is not a second thought
		if (armed) send({all: 1});
		arm(!armed);
	});
	const result = html('output');
	const node = html('form', {class: 'card', 'data-needs': 'purge'}, html('h2', {}, 'Purge'),
		html('p', {}, key, html('button', {'data-needs': 'purgeable'}, 'Purge key')),
		html('p', {'data-needs': 'purgeable_by_prefix'}, prefix, prefixed), html('p', {}, all), result);
	let armed;
	const arm = (on) => {
		armed = on;
		setText(all, on ? 'Yes, remove all entries' : 'Purge all…');
	};
	const send = async (what) => {
		setText(result, 'Purging.');
		try {
			const response = await fetch(new URL('purge', base), {method: 'POST', body: new URLSearchParams({cache, ...what})});
			const {removed, note, error} = await response.json().catch(() => ({})); // a proxy may answer otherwise
			if (!response.ok) throw new Error(error ?? 'status ' + response.status);
			setText(result, `Removed ${count.text(removed)}.${note ? ' ' + note : ''}`);
		} catch ({message}) {
			setText(result, `Not purged: ${message}.`);
		}
		poll();
	};
	all.onblur = () => arm(false);
	node.onsubmit = (event) => {
		event.preventDefault();
		send({key: key.value});
	};
	arm(false);
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
