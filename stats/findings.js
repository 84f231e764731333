// What is wrong: with the process, a cache or a wheel.

import {state} from './state.js';
import {span} from './numbers.js';
import {html, setText, set, fill} from './elements.js';

const levels = ['critical', 'warning', 'advice', 'ended'];

// levelOf returns the class of a finding, or of none.
export const levelOf = (f) => f?.ended_seconds ? 'ended' : f?.level ?? '';

// collect returns all findings of an answer: those of the process, then the most urgent.
export function collect({process, caches, wheels}) {
	const of = (what, place) => (what?.findings ?? []).map((f) => ({...f, name: what.name, href: place && place + encodeURIComponent(what.name)}));
	const others = [...caches.flatMap((c) => of(c, '#/cache/')), ...wheels.flatMap((w) => of(w, '#/wheel/'))];
	return [...of(process), ...others.sort((a, b) => levels.indexOf(levelOf(a)) - levels.indexOf(levelOf(b)))];
}

// newFindings returns the list of the chosen findings, and those of the process; own if they are of one cache or wheel.
export function newFindings(chosen, own) {
	const head = html('h2'), list = html('ul', {tabindex: 0, 'aria-label': 'Findings'});
	const node = html('section', {class: 'card findings'}, head, list);
	node.update = () => {
		const all = state.findings.filter((f) => !f.href || chosen(f));
		const counts = levels.map((level) => [all.filter((f) => levelOf(f) === level).length, level]).filter(([n]) => n);
		setText(head, counts.map(([n, level]) => `${n} ${level}${n > 1 && level === 'warning' ? 's' : ''}`).join(', ') || 'No findings');
		list.hidden = !all.length;
		fill(list, all.length, () => html('li', {}, html('a'), html('span'), html('small'))).forEach((item, i) => {
			const f = all[i], [name, words, time] = item.children;
			set(item, 'class', levelOf(f));
			setText(name, f.name ?? 'This process');
			set(name, 'href', f.href ?? '#/');
			name.hidden = own && f.href;
			setText(words, f.words);
			setText(time, f.ended_seconds ? `ended ${span(f.ended_seconds)} ago` : f.since_seconds ? 'for ' + span(f.since_seconds) : '');
		});
	};
	return node;
}
