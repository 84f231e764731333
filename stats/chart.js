// Charts with axes, a legend and a cursor.

import {state, byId} from './state.js';
import {clock, percent} from './numbers.js';
import {html, box, svg, setText, set, fill, showNumber, explained} from './elements.js';
import {curve, stretches, linePath, areaPath} from './curves.js';

const left = 54; // of the plot, in pixels
const height = 142;

export const resized = new ResizeObserver((changes) => changes.forEach(({target}) => target.chart.draw()));

export class Chart {
	constructor([id, title, kind, curves]) {
		Object.assign(this, {title, kind});
		this.series = curves.split(' ').map((text, i) => newSeries(kind, text.replaceAll('-', ' ').split(':'), i));
		const all = (part) => this.series.map((s) => s[part]);
		this.values = svg('g', {class: 'values'});
		this.times = svg('g', {class: 'times', transform: `translate(0 ${height})`});
		this.cursor = svg('path', {class: 'cursor', d: 'M0 0V' + height});
		// A nested svg clips what is outside the time range.
		const plot = svg('svg', {height}, ...all('area'), ...all('line'), this.cursor, ...all('dot'));
		this.node = svg('svg', {class: 'chart', height: height + 26, tabindex: 0, role: 'img'},
			svg('g', {transform: `translate(${left} 6)`}, this.values, this.times, plot));
		this.note = html('span');
		this.figure = html('figure', {class: kind.stack ? 'card stack' : 'card', 'data-chart': id, hidden: ''},
			html('figcaption', {}, html('h2', {}, title), this.note, box('ul', 'legend', ...all('entry'))), this.node);
		this.node.chart = this;
		resized.observe(this.node);
		listen(this);
	}

	draw(frame = this.frame) {
		this.frame = frame;
		if (!frame) return;
		this.measure();
		// What has no data takes no room; what had some keeps its place.
		const some = ({name, values}) => !/limit|memory/.test(name) && values.some((v) => this.kind === percent ? v != null : v);
		if (this.series.some(some)) this.figure.hidden = false;
		this.width = this.node.clientWidth - left - 6;
		if (this.width <= 0) return;
		this.drawAxes();
		this.drawSeries();
		this.mark();
	}

	// x and y leave room for half a line at the edges.
	x(time) {
		return (this.width - 4) * (time - this.frame.from) / (this.frame.to - this.frame.from);
	}

	y(value) {
		return height - (height - 3) * value / this.high;
	}

	// measure computes all values, and how high the plot is.
	measure() {
		const {kind, series, frame: {points}} = this;
		let bottom = points.map(() => 0);
		for (const s of series) {
			s.values = points.map(s.value);
			s.bottom = bottom;
			s.top = s.values.map((v, i) => v + bottom[i]);
			if (kind.stack) bottom = s.top;
		}
		const high = kind === percent ? 1 : Math.max(0, ...series.flatMap((s) => s.top)) || kind.top;
		this.step = kind.step(high / 4);
		this.high = this.step * Math.ceil(high / this.step - 1e-9);
	}

	drawAxes() {
		const {from, to} = this.frame;
		const values = Array.from({length: Math.round(this.high / this.step) + 1}, (_, i) => i * this.step);
		setTicks(this.values, values, (v) => [0, this.y(v)], 'h' + this.width, this.kind.tick);
		const step = [5e3, 15e3, 30e3, 6e4, 12e4, 3e5, 6e5, 9e5].find((s) => this.x(from + s) > 60) ?? 18e5;
		const times = [];
		for (let t = to - to % step; t > from; t -= step) if (this.x(t) < this.width - 20) times.push(t);
		setTicks(this.times, times, (t) => [this.x(t), 0], 'v4', clock);
	}

	drawSeries() {
		const {points} = this.frame;
		const x = points.map((p) => this.x(p.to));
		const y = (values) => values.map((v) => this.y(v));
		for (const s of this.series) {
			const runs = stretches(points, s.values);
			set(s.line, 'd', linePath(runs, x, y(s.top)));
			if (s.filled) set(s.area, 'd', areaPath(runs, x, y(s.top), y(s.bottom)));
			s.entry.hidden = s.name === 'limit' && !runs.length;
		}
	}

	// mark shows the cursor, and the values at it or else the latest.
	mark() {
		const {points} = this.frame;
		const found = underCursor(this.frame);
		const at = found < 0 ? points.length - 1 : found;
		const time = points[at]?.to;
		const put = (node, shown, y) => {
			node.style.display = found < 0 || !shown ? 'none' : '';
			if (shown) set(node, 'transform', `translate(${this.x(time)} ${y})`);
		};
		put(this.cursor, time, 0);
		for (const s of this.series) {
			showNumber(s.number, s.values[at], this.kind);
			put(s.dot, s.values[at] != null, this.y(s.top[at]));
		}
		const empty = this.series.every((s) => s.values.every((v) => v == null));
		const values = this.series.map((s) => s.name + ' ' + s.number.textContent).join(', ');
		setText(this.note, empty ? 'nothing in this time' : found < 0 ? '' : clock(time));
		set(this.node, 'aria-label', this.title + (empty ? ': nothing' : ` at ${clock(time)}: ${values}`));
	}
}

function newSeries(kind, [name, field = name], i) {
	const style = name === 'limit' ? 'limit' : 's' + i;
	const line = (d) => svg('path', {class: 'line ' + style, d});
	const number = html('b');
	return {
		name, number, value: curve(kind, field),
		filled: kind.stack || !i,
		area: svg('path', {class: 'area ' + style}),
		line: line(''),
		dot: svg('circle', {class: 'dot ' + style, r: 3.5}),
		entry: html('li', explained(name), svg('svg', {width: 22, height: 8}, line('M1 4H21')), name, ' ', number),
	};
}

function setTicks(axis, values, place, line, text) {
	fill(axis, values.length, () => svg('g', {}, svg('path'), svg('text'))).forEach((tick, i) => {
		set(tick, 'transform', `translate(${place(values[i])})`);
		set(tick.firstChild, 'd', 'M0 0' + line);
		setText(tick.lastChild, text(values[i]));
	});
}

export const isShortcut = (event) => event.ctrlKey || event.metaKey || event.altKey;
const underCursor = ({points}) => points.findIndex((p) => p.from === state.cursor);

// setCursor puts the cursor of all charts at a point, or nowhere.
function setCursor(point) {
	state.cursor = point?.from;
	state.view.charts?.forEach((chart) => chart.width > 0 && chart.mark());
}

function listen(chart) {
	const {node} = chart;
	node.onpointerdown = node.onpointermove = ({clientX}) => {
		const x = clientX - node.getBoundingClientRect().left - left;
		const distance = (p) => Math.abs(chart.x(p.to) - x);
		setCursor(chart.frame.points.toSorted((a, b) => distance(a) - distance(b))[0]);
	};
	node.onpointerleave = (event) => event.pointerType === 'mouse' && setCursor(); // a finger is lifted to read
	node.onblur = () => setCursor();
	node.onkeydown = (event) => {
		const last = chart.frame.points.length - 1;
		const found = underCursor(chart.frame);
		const at = found < 0 ? last : found;
		const to = {ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(last, at + 1), Home: 0, End: last, Escape: -1}[event.key];
		if (to === undefined || isShortcut(event)) return;
		event.preventDefault();
		setCursor(chart.frame.points[to]);
		setText(byId('spoken'), node.getAttribute('aria-label'));
	};
}
