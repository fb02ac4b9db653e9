// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph, of the chosen time: search, zoom and keyboard as in the picture of
// --format=flamegraph.
"use strict";
(function () {
const BOX_HEIGHT = 17, PADDING = 3, MIN_WIDTH = 0.5;
const {state, make, makeSvg} = vmop;
const section = vmop.addSection("flame", "Flame graph");
const frames = makeSvg("g", {id: "frames"});
const picture = makeSvg("svg", {id: "flame-picture", role: "group", "aria-label": "Flame graph"},
			frames);
const message = make("p", {id: "message", role: "status"});
const legend = make("p", {});
const hidden = make("p", {class: "soft"});
let boxes = [], zoomed, focused, shownEvent, columnWidth = 7.3, pinned = "";

// Make the boxes of the event: callers come before their callees.
function readBoxes(event) {
	boxes = [];
	event.boxes.forEach(function ([parent, name, image, kind, samples, weight, times], i) {
		const isSum = kind < 0, box = {
			parent: i ? boxes[parent] : null, children: [], order: i, last: i, isSum: isSum,
			name: isSum ? "[" + image + " small frames]" : vmop.data.texts[name],
			image: isSum ? "" : vmop.data.texts[image], kind: kind, times: times,
			own: {samples: samples, weight: weight}, element: null,
		};
		boxes.push(box);
		if (box.parent)
			box.parent.children.push(box);
	});
	for (let i = boxes.length - 1; i > 0; i--)
		boxes[i].parent.last = Math.max(boxes[i].parent.last, boxes[i].last);
	zoomed = focused = boxes[0];
	shownEvent = event;
	drawLegend();
}

function drawLegend() {
	const kinds = new Set(boxes.filter((box) => box.kind >= 0).map((box) => box.kind));
	legend.replaceChildren();
	[...kinds].sort((a, b) => a - b).forEach(function (kind) {
		const [className, name] = vmop.kindOf(kind);
		const square = makeSvg("svg", {width: 12, height: 12, style: "width: 12px"},
			makeSvg("g", {class: className + " c1"}, makeSvg("rect", {width: 12, height: 12})));
		if (name)
			legend.append(make("span", {class: "key"}, square, name));
	});
	const n = shownEvent.n_hidden_frames;
	hidden.textContent = n ? vmop.showNumber(n) +
		" frames are too small to show and are summed up" : "";
}

// Sum up the boxes for the chosen time, and place them: left and width are shares of the picture.
function measure() {
	for (const box of boxes) {
		const own = vmop.isWhole() ? box.own : vmop.sumTimes(box.times);
		box.self = own;
		box.total = {samples: own.samples, weight: own.weight};
	}
	for (let i = boxes.length - 1; i > 0; i--) {
		boxes[i].parent.total.samples += boxes[i].total.samples;
		boxes[i].parent.total.weight += boxes[i].total.weight;
	}
	const all = vmop.valueOf(boxes[0].total) || 1;
	for (const box of boxes) {
		box.width = vmop.valueOf(box.total) / all;
		box.left = box.parent ? box.parent.end : 0;
		box.end = box.left; // of the children so far
		box.depth = box.parent ? box.parent.depth + 1 : 0;
		if (box.parent)
			box.parent.end += box.width;
	}
}

// Return a shade that a name keeps in every graph: FNV-1a, as flamegraph.c.
function shadeOf(name) {
	let hash = 2166136261;
	for (const byte of new TextEncoder().encode(name))
		hash = Math.imul(hash ^ byte, 16777619) >>> 0;
	return (hash >>> 16) % 4;
}

function cutName(name, columns) {
	const characters = Array.from(name);
	return characters.length <= columns ? name : characters.slice(0, columns - 2).join("") + "..";
}

function describe(box) {
	const parts = [box.name];
	if (box.image)
		parts.push(box.image);
	parts.push(vmop.showSamples(box.total.samples) + ", " +
		   vmop.showPercent(100 * box.width));
	if (state.event.weight)
		parts.push(vmop.showWeight(box.total.weight));
	if (box.self.samples && box.self.samples !== box.total.samples)
		parts.push("in no box below: " + vmop.showSamples(box.self.samples));
	return parts;
}

function classOf(box, width) {
	const shades = !box.isSum && box.kind <= 5 ? " c" + shadeOf(box.name) : "";
	const name = box.isSum ? "s" : vmop.kindOf(box.kind)[0];
	return name + shades + (width >= 4 ? " w" : "");
}

// Return the element of a box that lies at x, and is so wide.
function makeBox(box, x, width, isAbove) {
	const y = box.depth * BOX_HEIGHT, parts = describe(box);
	const columns = Math.floor((width - 2 * PADDING) / columnWidth);
	const group = makeSvg("g", {class: classOf(box, width) + (isAbove ? " above" : ""),
				    tabindex: box === focused ? 0 : -1, role: "button",
				    "aria-label": parts.join(", ")},
		makeSvg("title", {}, parts.join("\n")),
		makeSvg("rect", {x: x, y: y, width: width, height: BOX_HEIGHT - 1, rx: 1}));
	if (columns >= 3)
		group.append(makeSvg("text", {x: x + PADDING, y: y + 12.5}, cutName(box.name, columns)));
	group.vmopBox = box;
	return group;
}

function draw() {
	if (shownEvent !== state.event)
		readBoxes(state.event);
	measure();
	if (!zoomed.width)
		zoomed = boxes[0];
	const width = Math.max(200, section.clientWidth), above = new Set();
	const matches = state.words ? vmop.matcher(state.words) : null;
	let depth = 0, found = 0, end = -1, n = 0;
	for (let box = zoomed.parent; box; box = box.parent)
		above.add(box);
	frames.replaceChildren();
	for (const box of boxes) {
		const isAbove = above.has(box);
		const isBelow = box.order >= zoomed.order && box.order <= zoomed.last;
		const isHit = matches && !box.isSum && matches(box.name);
		box.element = null;
		if (isHit && box.width) {
			n++;
			if (box.order > end) {
				found += box.width;
				end = box.last;
			}
		}
		if (!isAbove && !isBelow || !zoomed.width)
			continue;
		const x = isAbove ? 0 : (box.left - zoomed.left) / zoomed.width * width;
		const boxWidth = isAbove ? width : box.width / zoomed.width * width;
		if (boxWidth < MIN_WIDTH)
			continue;
		box.element = makeBox(box, x, boxWidth, isAbove);
		box.element.classList.toggle("hit", Boolean(isHit));
		frames.append(box.element);
		depth = Math.max(depth, box.depth);
	}
	vmop.setAttributes(picture, {viewBox: "0 0 " + width + " " + (depth + 1) * BOX_HEIGHT,
				     height: (depth + 1) * BOX_HEIGHT});
	pinned = matches ? "matched: " + vmop.showPercent(100 * found) + " in " + n + " frames" : "";
	say(null);
}

function say(box) {
	const parts = pinned ? [pinned] : [];
	if (box)
		parts.push(describe(box).join(" | "));
	else if (zoomed !== boxes[0])
		parts.push("zoomed: " + describe(zoomed).join(" | "));
	message.textContent = parts.join("; ");
}

function zoom(box) {
	zoomed = focused = box;
	draw();
	box.element.focus({preventScroll: true});
}

function focus(box) {
	if (!box || !box.element)
		return;
	if (focused.element)
		focused.element.setAttribute("tabindex", "-1");
	focused = box;
	box.element.setAttribute("tabindex", "0");
	box.element.focus();
}

function sibling(box, step) {
	const siblings = box.parent ? box.parent.children : [box];
	return siblings[siblings.indexOf(box) + step];
}

function onKey(event) {
	const box = boxOf(event);
	const moves = {ArrowUp: (b) => b.parent, ArrowDown: (b) => b.children[0], Home: () => boxes[0],
		       ArrowLeft: (b) => sibling(b, -1), ArrowRight: (b) => sibling(b, 1)};
	if (!box || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === "Enter" || event.key === " ")
		zoom(box);
	else if (moves[event.key])
		focus(moves[event.key](box));
	else
		return;
	event.preventDefault();
}

function boxOf(event) {
	const group = event.target.closest && event.target.closest("#frames > g");
	return group ? group.vmopBox : null;
}

function measureText() {
	const probe = makeSvg("text", {}, "m".repeat(50));
	picture.append(probe);
	columnWidth = Math.max(5, probe.getComputedTextLength() / 50) + 0.02;
	probe.remove();
}

if (!vmop.data.has_stacks) {
	section.append(make("p", {class: "soft"},
			    "This session has no call stacks: record with --callgraph."));
	return;
}
section.append(make("p", {class: "soft"}, "A box is as wide as its function's share, callees hang " +
	"below their callers. Enter or a click zooms, arrow keys move, Esc shows everything."),
	legend, message, make("div", {class: "flame-scroll"}, picture), hidden);
measureText();
frames.addEventListener("click", (event) => boxOf(event) && zoom(boxOf(event)));
frames.addEventListener("keydown", onKey);
frames.addEventListener("mouseover", (event) => say(boxOf(event)));
frames.addEventListener("mouseleave", () => say(null));
frames.addEventListener("focusin", (event) => say(boxOf(event)));
window.addEventListener("resize", draw);
vmop.unzoom = function () { zoomed = focused = boxes[0]; };
vmop.drawers.push(draw);
})();
