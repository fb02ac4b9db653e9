// SPDX-License-Identifier: GPL-2.0-or-later
// The timeline: the domains' weights by time.  A range is chosen with the pointer or with the two
// sliders below the chart.
"use strict";
(function () {
const HEIGHT = 130, TOP = 6, BOTTOM = 20;
const {state, make, makeSvg} = vmop;
const section = vmop.addSection("timeline", "Timeline");
const chart = makeSvg("svg", {id: "time-chart", height: HEIGHT, role: "img"});
const keys = make("p", {});
const spec = make("p", {id: "spec", role: "status"});
const from = make("input", {type: "range", id: "from", min: 0});
const to = make("input", {type: "range", id: "to", min: 1});
const reset = make("button", {type: "button", id: "whole-time"}, "Whole time (Esc)");
let dragged = null;

// Return each domain's values by span.
function valuesOf(event) {
	const step = event.weight_unit ? 3 : 2;
	return event.bills.map(function ([, ...parts]) {
		const values = new Array(event.spans).fill(0);
		for (const times of parts)
			for (let i = 0; i < times.length; i += step)
				values[times[i]] += times[i + step - 1];
		return values;
	});
}

function secondsAt(span) {
	return vmop.data.from_s + span * state.event.span_s;
}

// Return the time of the span's samples, as shares of the whole time.
function extentOf(span) {
	const all = state.event.spans * state.event.span_s * 1000, ms = state.event.extents_ms;
	return [Math.min(1, ms[2 * span] / all), Math.min(1, ms[2 * span + 1] / all)];
}

// Return where the span begins, as a share of the whole time: not within the samples of another.
function edgeOf(span) {
	const spans = state.event.spans;
	let earliest = 0, latest = 1;
	if (span <= 0 || span >= spans)
		return span <= 0 ? 0 : 1;
	for (let i = span - 1; i >= 0 && !earliest; i--)
		earliest = extentOf(i)[1];
	for (let i = span; i < spans && latest === 1; i++)
		latest = extentOf(i)[0] || 1;
	return Math.max(earliest, Math.min(latest, span / spans));
}

// A bar is as wide as the time that its samples are from, and as high as their weight by time.
function drawBars(width) {
	const event = state.event, values = valuesOf(event);
	const height = HEIGHT - TOP - BOTTOM, whole = 1 / event.spans;
	const rates = [];
	let most = 0;
	for (let span = 0; span < event.spans; span++) {
		const [start, end] = extentOf(span);
		// The rate of a very short time says nothing.
		rates.push(whole / Math.max(end - start, whole / 4));
		most = Math.max(most, rates[span] * values.reduce((sum, one) => sum + one[span], 0));
	}
	for (let span = 0; span < event.spans; span++) {
		const [start, end] = extentOf(span), wide = (end - start) * width;
		let y = TOP + height;
		values.forEach(function (one, i) {
			const h = height * rates[span] * one[span] / (most || 1);
			if (!h)
				return;
			y -= h;
			chart.append(makeSvg("rect", {class: "t" + i % 12, x: start * width, y: y,
						      width: Math.max(wide - (wide > 4 ? 1 : 0), 0.5),
						      height: h}));
		});
	}
}

// Draw times below the bars, so many that they do not touch.
function drawAxis(width) {
	const y = HEIGHT - BOTTOM, spans = state.event.spans;
	const each = width / spans, step = Math.max(1, Math.ceil(110 / each));
	chart.append(makeSvg("line", {class: "axis", x1: 0, x2: width, y1: y, y2: y}));
	for (let span = 0; span <= spans; span += step) {
		const x = span * each;
		const anchor = span === 0 ? "start" : x > width - 50 ? "end" : "middle";
		chart.append(makeSvg("line", {class: "axis", x1: x, x2: x, y1: y, y2: y + 4}),
			     makeSvg("text", {x: x, y: HEIGHT - 4, "text-anchor": anchor},
				     "+" + vmop.showSpan(secondsAt(span))));
	}
}

function drawChoice(width) {
	const left = edgeOf(state.from) * width, right = edgeOf(state.to) * width;
	const height = HEIGHT - TOP - BOTTOM;
	if (vmop.isWhole())
		return;
	chart.append(makeSvg("rect", {class: "shade", x: 0, y: TOP, width: left, height: height}),
		     makeSvg("rect", {class: "shade", x: right, y: TOP, width: width - right,
				      height: height}),
		     makeSvg("rect", {class: "chosen", x: left, y: TOP, width: right - left,
				      height: height}));
}

function drawSpec() {
	const last = secondsAt(state.to);
	if (vmop.isWhole()) {
		spec.replaceChildren("Choose a range: all parts of the page then show only its samples. " +
				     "A bar is " + vmop.showSpan(state.event.span_s) + ".");
		return;
	}
	spec.replaceChildren("The same range in a report: ",
		make("code", {}, "time:+" + secondsAt(state.from) + "s..+" + last + "s"));
}

function draw() {
	const width = Math.max(200, section.clientWidth), spans = state.event.spans;
	chart.replaceChildren();
	vmop.setAttributes(chart, {viewBox: "0 0 " + width + " " + HEIGHT,
				   "aria-label": "Weight by time and domain, " + spans + " bars"});
	drawBars(width);
	drawAxis(width);
	drawChoice(width);
	drawSpec();
	from.max = spans - 1;
	to.max = spans;
	from.value = state.from;
	to.value = state.to;
	from.setAttribute("aria-valuetext", "+" + vmop.showSpan(secondsAt(state.from)));
	to.setAttribute("aria-valuetext", "+" + vmop.showSpan(secondsAt(state.to)));
	reset.disabled = vmop.isWhole();
	keys.replaceChildren(...state.event.bills.map(
		([name], i) => vmop.makeKey("t" + i % 12, vmop.data.texts[name])));
}

function spanAt(event) {
	const box = chart.getBoundingClientRect();
	const share = Math.max(0, Math.min(0.999999, (event.clientX - box.left) / box.width));
	let span = Math.floor(share * state.event.spans);
	while (share < edgeOf(span))
		span--;
	while (span + 1 < state.event.spans && share >= edgeOf(span + 1))
		span++;
	return span;
}

function drag(event) {
	const span = spanAt(event);
	vmop.choose(Math.min(span, dragged), Math.max(span, dragged) + 1);
}

chart.addEventListener("pointerdown", function (event) {
	if (event.button !== 0)
		return;
	dragged = spanAt(event);
	if (event.isTrusted)
		chart.setPointerCapture(event.pointerId);
	drag(event);
});
chart.addEventListener("pointermove", (event) => dragged !== null && drag(event));
for (const end of ["pointerup", "pointercancel"])
	chart.addEventListener(end, () => { dragged = null; });
from.addEventListener("input", () => vmop.choose(Number(from.value),
						 Math.max(state.to, Number(from.value) + 1)));
to.addEventListener("input", () => vmop.choose(Math.min(state.from, Number(to.value) - 1),
					       Number(to.value)));
reset.addEventListener("click", () => vmop.choose(0, state.event.spans));
section.append(chart, keys, make("div", {id: "ranges"}, make("label", {for: "from"}, "from"), from,
	make("label", {for: "to"}, "to"), to), make("div", {class: "row"}, reset), spec);
window.addEventListener("resize", draw);
vmop.drawers.push(draw);
})();
