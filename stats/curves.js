// Points as curves.

import {state} from './state.js';
import {niceStep, percent, seconds} from './numbers.js';
import {svg, set, find} from './elements.js';

// curve returns the function of a point to draw, null for a gap. A field may be a path.
export function curve(kind, field) {
	const value = (p) => find(p, field)[0] ?? null;
	if (kind.step === niceStep) return (p) => value(p) && value(p) / p.seconds; // a rate
	if (kind === seconds || /limit|max/.test(field)) return (p) => value(p) || null;
	return value;
}

// stretches returns the indices of points in runs without a gap.
export function stretches(points, values) {
	const runs = [];
	points.forEach((p, i) => {
		if (values[i] == null) return;
		if (i && values[i - 1] != null && p.from - points[i - 1].to < 3000) runs.at(-1).push(i);
		else runs.push([i]);
	});
	return runs;
}

// A run of one point is a dot.
export function linePath(runs, x, y) {
	const at = (i) => x[i].toFixed(1) + ' ' + y[i].toFixed(1);
	return runs.map((run) => 'M' + run.map(at).join('L') + (run.length > 1 ? '' : 'm-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0')).join('');
}

export function areaPath(runs, x, top, bottom) {
	return runs.map((run) =>
		linePath([run], x, top) + linePath([run.toReversed()], x, bottom).replace('M', 'L') + 'Z').join('');
}

// A frame is the time range and its points, and one before: lines begin at the edge.
export function newFrame(points = []) {
	const to = Date.parse(state.json.time);
	const from = to - 1000 * state.range;
	const start = points.findIndex((p) => p.to > from);
	return {from, to, points: start < 0 ? [] : points.slice(Math.max(0, start - 1))};
}

// newSpark returns a small curve, which draws a frame.
export function newSpark(kind, field) {
	const width = 84, height = 22;
	const area = svg('path', {class: 'area'});
	const line = svg('path', {class: 'line'});
	const node = svg('svg', {class: 'spark s0', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': true}, area, line);
	node.draw = ({points, from, to}) => {
		const values = points.map(curve(kind, field));
		const high = kind === percent ? 1 : Math.max(...values, 1e-9);
		const x = points.map((p) => (width - 2) * (p.to - from) / (to - from));
		const y = values.map((v) => height - 1 - (height - 3) * v / high);
		const runs = stretches(points, values);
		set(line, 'd', linePath(runs, x, y));
		set(area, 'd', areaPath(runs, x, y, y.map(() => height)));
	};
	return node;
}
