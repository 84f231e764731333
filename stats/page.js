// The statistics page polls stats.json, remembers an hour of points, and shows them.
// Names and keys are untrusted: they only ever become text, never markup. A poll changes
// texts and paths in place, so that focus and selection survive it.

import {state, store, byId, show} from './state.js';
import {resized, isShortcut} from './chart.js';
import {newOverview} from './overview.js';
import {newDetail} from './detail.js';
import {newFleet} from './fleet.js';
import {poll, pause} from './poll.js';

const overview = newOverview(); // it lives on behind the details
state.view = overview;

function route() {
	if (location.hash === '#/fleet') return newFleet();
	const [, what, name] = /^#\/(cache|wheel)\/(.+)/.exec(location.hash) ?? [];
	try {
		return what ? newDetail(what + 's', decodeURIComponent(name)) : overview;
	} catch {
		return overview; // a malformed address
	}
}

function go() {
	state.view.charts?.forEach((chart) => resized.unobserve(chart.node));
	state.view.scroll = scrollY;
	state.cursor = null;
	state.view = route();
	byId('main').replaceChildren(state.view.node);
	show();
	scrollTo(0, state.view.scroll ?? 0);
}

const ranges = [...document.getElementsByName('range')];

function setRange(range) {
	state.range = range;
	ranges.forEach((input) => input.checked = Number(input.value) === range);
	store();
	show();
}

function onKey(event) {
	if (isShortcut(event) || event.target.matches('input:not([type=radio])')) return;
	if (event.key === 'p') pause();
	else if (/^[1-4]$/.test(event.key)) ranges[event.key - 1].click();
	else if (event.key === '/') filter.select();
	else return;
	event.preventDefault();
}

const filter = byId('filter');
filter.oninput = () => {
	state.filter = filter.value.toLowerCase();
	location.hash = '#/';
	show();
};
filter.onkeydown = ({key}) => {
	const first = key === 'Enter' && overview.first();
	if (first) location.hash = first.hash;
};
ranges.forEach((input) => input.onchange = () => setRange(Number(input.value)));
byId('pause').onclick = pause;
document.onkeydown = onKey;
document.onvisibilitychange = poll;
window.onhashchange = () => {
	go();
	state.view.head?.focus({preventScroll: true}); // so that a screen reader says where one is
};
setRange(state.range);
go();
poll();
