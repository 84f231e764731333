// Forms that change or record a cache, for those who may purge.

import {base} from './state.js';
import {bytes, count, kindOf} from './numbers.js';
import {html, setText} from './elements.js';
import {poll} from './poll.js';

// newCard returns a card of forms, each of which sends its fields to path. words returns what an answer says.
function newCard(cache, path, title, doing, words, ...forms) {
	const result = html('output');
	const node = html('section', {class: 'card', 'data-needs': 'purge'}, html('h2', {}, title), ...forms, result);
	node.onsubmit = async (event) => {
		event.preventDefault();
		const {target, submitter} = event;
		const fields = [...new FormData(target, submitter)].filter(([, v]) => v || path !== 'tune'); // what is empty stays as it is
		submitter.disabled = true;
		setText(result, doing);
		try {
			const answer = await fetch(new URL(path, base), {method: 'POST', body: new URLSearchParams([['cache', cache], ...fields])});
			if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error ?? 'status ' + answer.status); // a proxy may answer otherwise
			setText(result, await words(answer));
		} catch ({message}) {
			setText(result, `Failed: ${message}.`);
		}
		submitter.disabled = false;
		target.querySelectorAll('details').forEach((sure) => sure.open = false);
		poll();
	};
	return node;
}

const newInput = (name, title, hint) => html('input', {name, 'aria-label': title, placeholder: hint, autocomplete: 'off', spellcheck: false});

// newFleet returns a box for what is to happen in all instances.
const newFleet = () => html('label', {'data-needs': 'purgeable_in_fleet'}, html('input', {type: 'checkbox', name: 'fleet', value: 1}), 'Fleet: in the store and all instances');

// newSure returns a button that is unfolded first, elsewhere: no double click is on it, nor Enter that is held.
const newSure = (text, name, yes) => html('details', {}, html('summary', {}, text), html('button', {name, value: 1}, yes));

export const newPurge = (cache) => newCard(cache, 'purge', 'Purge', 'Purging.', async (answer) => {
	const {removed, note} = await answer.json();
	return `Removed ${count.text(removed)}.${note ? ' ' + note : ''}`;
},
html('form', {'data-needs': 'purgeable'}, newInput('key', 'Key', 'Key'), newFleet(), html('button', {}, 'Purge key')),
html('form', {'data-needs': 'purgeable_by_prefix'}, newInput('prefix', 'Prefix', 'Prefix of keys'), newFleet(), html('button', {}, 'Purge by prefix')),
html('form', {}, newFleet(), newSure('Purge all…', 'all', 'Yes, remove all entries')));

// What can be changed, each with a hint.
const tunables = [['max_loads', 'Most loads at once', '10'], ['expire', 'Expire', '5m'], ['grace', 'Grace', '1m'], ['patience', 'Patience', '100ms']];

// newTune returns forms to change options of a cache until its process ends.
export const newTune = (cache) => newCard(cache, 'tune', 'Change until the restart', 'Changing.', async (answer) => {
	const text = (name, v) => typeof v === 'boolean' ? (v ? 'on' : 'off') : kindOf(name).text(v);
	const now = Object.entries(await answer.json());
	return 'Now: ' + now.map(([name, v]) => name.replace(/_seconds$/, '').replaceAll('_', ' ') + ' ' + text(name, v)).join(', ') + '.';
},
html('form', {}, ...tunables.map(([name, title, hint]) => html('label', {}, title, newInput(name, title, 'such as ' + hint))), html('button', {}, 'Change')),
html('form', {}, newSure('Bypass…', 'bypass', 'Yes, empty it and store nothing'), html('button', {name: 'bypass', value: 0}, 'End bypass')));

const newNumber = (name, words, value, max) => html('label', {}, words, html('input', {name, value, type: 'number', min: 1, max, required: true}));

// newRecorder returns a form to record what the cache is asked for, and keep that as a file.
export const newRecorder = (cache) => newCard(cache, 'record', 'Record for cachesim', 'Recording: keep this page open.', async (answer) => {
	const file = await answer.blob();
	const href = URL.createObjectURL(file);
	html('a', {href, download: cache + '.recording'}).click();
	URL.revokeObjectURL(href);
	return `Recorded ${bytes(file.size)}.`;
},
html('form', {}, newNumber('seconds', 'Seconds', 60, 3600), newNumber('one_in', 'One key in', 64, 1 << 20), html('button', {}, 'Record')));
