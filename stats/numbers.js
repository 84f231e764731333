// Numbers as text.

export const none = '–';
export const space = '\u00a0';
export const sizes = [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G'], [1e12, 'T']];
const times = [[1e-6, 'µs'], [1e-3, 'ms'], [1, 's'], [60, 'min'], [3600, 'h'], [86400, 'd']];

const trimmed = (v) => String(Number(v.toPrecision(3)));
export const bytes = (v) => scaled(v, sizes, digits) + 'B';
export const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');
export const dated = (time) => new Date(time).toLocaleString('en-GB');

// digits returns v with three digits, or more before the point.
export const digits = (v) => v < 0.0995 ? trimmed(v) : v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0);

// scaled returns v in the largest unit that leaves at least 1 before the point.
export function scaled(v, units, show) {
	const [size, unit] = units.findLast(([size]) => v >= size * 0.9995) ?? units[0];
	return show(v / size) + (unit && space + unit);
}

// span returns seconds in one whole unit.
export const span = (v) => v < 120 ? Math.round(v) + space + 's' : scaled(v, times, Math.round);

// niceStep returns the least of 1, 2 and 5 times a power of ten that is not below v.
export function niceStep(v) {
	const power = 10 ** Math.floor(Math.log10(v));
	return power * [1, 2, 5, 10].find((m) => m * power >= v * 0.9999);
}

function niceTime(v) {
	if (v <= 5) return niceStep(v);
	return [10, 30, 60, 300, 600, 1800, 3600, 7200, 21600, 43200].find((s) => s >= v) ??
		86400 * niceStep(v / 86400);
}

// A kind of number: its text (of a field of owner), the text and distance of ticks, and
// how high an axis is where all is 0.
export const percent = {
	text: (v, owner) => owner?.gets === 0 ? none : (100 * v).toFixed(1) + space + '%',
	tick: (v) => 100 * v + space + '%',
	step: () => 0.25,
};
export const count = {
	text: (v) => v < 999999.5 ? Math.round(v).toLocaleString('en-US') : scaled(v, sizes, digits),
	tick: (v) => scaled(v, sizes, trimmed),
	step: (v) => Math.max(1, niceStep(v)),
	top: 4,
};
export const rate = {
	text: (v) => !v ? '0' : (v < 999.5 ? digits(v) : count.text(v)) + space + '/s',
	tick: count.tick,
	step: niceStep,
	top: 1,
};
export const stacked = {...rate, stack: true}; // rates that add up
export const seconds = { // a quantile of nothing is 0
	text: (v) => v ? scaled(v, times, digits) : none,
	tick: (v) => v ? scaled(v, times, trimmed) : '0',
	step: niceTime,
	top: 0.001,
};

export function kindOf(path) {
	if (/(ratio|share|jitter|refresh)$/.test(path)) return percent;
	if (path.endsWith('per_second')) return rate;
	return path.endsWith('seconds') ? seconds : count;
}
