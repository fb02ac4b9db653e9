// SPDX-License-Identifier: GPL-2.0-or-later
// Search, zoom and keyboard of a flame graph.  Every box is a <g> with <title>, <rect> and perhaps
// <text>; boxes come in depth-first order, callers first.  Texts are only read and set as text.
"use strict";
(function () {
const MARGIN = 10, PADDING = 3, TOOLS_WIDTH = 330;
const SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
const svg = document.documentElement;
const message = document.getElementById("message");
const drawnWidth = svg.viewBox.baseVal.width - 2 * MARGIN;
let width = drawnWidth, columnWidth = 7.3, zoomed, focused, field;

// ---- boxes

// Return the boxes: left and width are shares of the picture, children are boxes.
function readBoxes() {
	const path = [];
	let depth = 0, top = null;
	return Array.from(document.querySelectorAll("#frames > g"), function (group) {
		const rect = group.querySelector("rect"), y = rect.y.baseVal.value;
		const title = group.querySelector("title").textContent;
		const box = {
			group: group, rect: rect, text: group.querySelector("text"), title: title,
			name: title.split("\n", 1)[0], children: [], parent: null,
			left: (rect.x.baseVal.value - MARGIN) / drawnWidth,
			width: rect.width.baseVal.value / drawnWidth,
		};
		if (top === null)
			top = y;
		depth = Math.round((y - top) / 17);
		path.length = depth;
		if (depth > 0) {
			box.parent = path[depth - 1];
			box.parent.children.push(box);
		}
		path.push(box);
		return box;
	});
}

const boxes = readBoxes(), root = boxes[0];

// ---- layout

function columnsOf(character) {
	return character.codePointAt(0) < 128 ? 1 : 2;
}

// Return as much of the name as fits, and the columns that it takes.
function cutName(name, columns) {
	const characters = Array.from(name);
	const total = characters.reduce((sum, c) => sum + columnsOf(c), 0);
	if (total <= columns)
		return [name, total];
	let used = 0, n = 0;
	while (n < characters.length && used + columnsOf(characters[n]) + 2 <= columns)
		used += columnsOf(characters[n++]);
	return [characters.slice(0, n).join("") + "..", used + 2];
}

function label(box, left, boxWidth) {
	const columns = Math.floor((boxWidth - 2 * PADDING) / columnWidth);
	if (columns < 3) {
		if (box.text)
			box.text.style.display = "none";
		return;
	}
	if (!box.text) {
		box.text = document.createElementNS(SVG, "text");
		box.text.setAttribute("y", box.rect.y.baseVal.value + 12.5);
		box.group.appendChild(box.text);
	}
	const [text, used] = cutName(box.name, columns);
	box.text.style.display = "";
	box.text.setAttribute("x", left + PADDING);
	box.text.textContent = text;
	if (/^[\x20-\x7e]*$/.test(text)) {
		box.text.removeAttribute("textLength");
	} else {
		box.text.setAttribute("textLength", used * columnWidth);
		box.text.setAttribute("lengthAdjust", "spacingAndGlyphs");
	}
}

// Lay out all boxes, so that the zoomed one is as wide as the picture.
function layOut() {
	const above = new Set();
	for (let box = zoomed.parent; box; box = box.parent)
		above.add(box);
	for (const box of boxes) {
		const isAbove = above.has(box);
		const left = isAbove ? 0 : (box.left - zoomed.left) / zoomed.width;
		const share = isAbove ? 1 : box.width / zoomed.width;
		const isSeen = isAbove || (left > -1e-6 && left + share < 1 + 1e-3 &&
					   isBelow(box, zoomed));
		box.group.style.display = isSeen && share * width >= 0.05 ? "" : "none";
		box.group.classList.toggle("above", isAbove);
		if (box.group.style.display === "none")
			continue;
		const x = MARGIN + Math.max(0, left) * width, boxWidth = Math.min(1, share) * width;
		box.rect.setAttribute("x", x);
		box.rect.setAttribute("width", boxWidth);
		box.group.classList.toggle("w", boxWidth >= 4);
		label(box, x, boxWidth);
	}
}

function isBelow(box, ancestor) {
	return ancestor === root || box.order >= ancestor.order && box.order <= ancestor.last;
}

// Number the boxes; `last` is the number of the last box below one.
function number() {
	boxes.forEach(function (box, i) { box.order = box.last = i; });
	for (let i = boxes.length - 1; i > 0; i--)
		boxes[i].parent.last = Math.max(boxes[i].parent.last, boxes[i].last);
}

function zoom(box) {
	zoomed = box;
	layOut();
	focus(box);
	describe();
}

// Fit the picture to the window; its height never changes.
function resize() {
	const height = svg.viewBox.baseVal.height;
	const total = Math.max(600, svg.ownerDocument.defaultView.innerWidth - 20 || 0);
	width = total - 2 * MARGIN;
	svg.setAttribute("width", total);
	svg.setAttribute("viewBox", "0 0 " + total + " " + height);
	if (field)
		field.parentNode.parentNode.setAttribute("x", total - TOOLS_WIDTH - MARGIN);
	layOut();
}

// ---- search

// Return a test of names: a regular expression, or a text if the words are none.
function matcher(words) {
	try {
		const pattern = new RegExp(words, "i");
		return (name) => pattern.test(name);
	} catch (error) {
		const text = words.toLowerCase();
		return (name) => name.toLowerCase().includes(text);
	}
}

let found = "";

// Mark the boxes that match, and sum up their shares; what is below a match counts once.
function search(words) {
	const matches = words ? matcher(words) : () => false;
	let share = 0, n = 0, end = -1;
	for (const box of boxes) {
		const isHit = matches(box.name);
		box.group.classList.toggle("hit", isHit);
		n += isHit;
		if (isHit && box.order > end) {
			share += box.width;
			end = box.last;
		}
	}
	found = words ? "matched: " + (100 * share).toFixed(2) + " % in " + n + " frames" : "";
	describe();
}

// ---- messages, focus and keys

function describe(box) {
	const shown = box || (zoomed !== root ? zoomed : null);
	const parts = found ? [found] : [];
	if (shown)
		parts.push((box ? "" : "zoomed: ") + shown.title.split("\n").join(" | "));
	message.textContent = cutName(parts.join("; "), Math.floor(width / columnWidth))[0];
}

function focus(box) {
	if (focused)
		focused.group.setAttribute("tabindex", "-1");
	focused = box;
	box.group.setAttribute("tabindex", "0");
	box.group.focus({preventScroll: false});
}

function siblingOf(box, step) {
	const siblings = box.parent ? box.parent.children : [box];
	return siblings[siblings.indexOf(box) + step];
}

// Return the box that an arrow key leads to.
function neighbour(key) {
	switch (key) {
	case "ArrowUp":
		return focused.parent;
	case "ArrowDown":
		return focused.children[0];
	case "ArrowLeft":
		return siblingOf(focused, -1);
	case "ArrowRight":
		return siblingOf(focused, 1);
	case "Home":
		return root;
	default:
		return undefined;
	}
}

function onKey(event) {
	const isField = event.target === field;
	if ((event.ctrlKey || event.metaKey) && event.key === "f" && !isField) {
		field.focus();
		field.select();
	} else if (event.key === "/" && !isField) {
		field.focus();
	} else if (event.key === "Escape") {
		field.value = "";
		search("");
		zoom(root);
	} else if (!isField && event.key === "Enter" && boxOf(event)) {
		zoom(boxOf(event));
	} else if (!isField && neighbour(event.key)) {
		const next = neighbour(event.key);
		if (next.group.style.display !== "none")
			focus(next);
	} else {
		return;
	}
	event.preventDefault();
}

// Return the box of an event, or undefined.
function boxOf(event) {
	const group = event.target.closest && event.target.closest("#frames > g");
	return group ? boxes[group.vmopOrder] : undefined;
}

function makeTools() {
	const frame = document.createElementNS(SVG, "foreignObject");
	const tools = document.createElementNS(XHTML, "div");
	const button = document.createElementNS(XHTML, "button");
	field = document.createElementNS(XHTML, "input");
	frame.setAttribute("y", 6);
	frame.setAttribute("width", TOOLS_WIDTH);
	frame.setAttribute("height", 26);
	tools.style.textAlign = "right";
	frame.id = "tools";
	field.type = "search";
	field.placeholder = "Search (Ctrl-F or /)";
	field.setAttribute("aria-label", "Search for functions");
	field.style.width = "200px";
	button.textContent = "Reset (Esc)";
	field.addEventListener("input", () => search(field.value));
	button.addEventListener("click", function () {
		field.value = "";
		search("");
		zoom(root);
	});
	tools.append(field, " ", button);
	frame.append(tools);
	svg.append(frame);
}

function measure() {
	const probe = document.createElementNS(SVG, "text");
	probe.textContent = "m".repeat(50);
	svg.append(probe);
	columnWidth = Math.max(5, probe.getComputedTextLength() / 50) + 0.02;
	probe.remove();
}

function start() {
	number();
	measure();
	makeTools();
	zoomed = focused = root;
	boxes.forEach(function (box) {
		box.group.vmopOrder = box.order;
		box.group.setAttribute("tabindex", box === root ? "0" : "-1");
		box.group.setAttribute("role", "button");
	});
	const frames = document.getElementById("frames");
	frames.addEventListener("click", (event) => boxOf(event) && zoom(boxOf(event)));
	frames.addEventListener("mouseover", (event) => describe(boxOf(event)));
	frames.addEventListener("mouseleave", () => describe());
	frames.addEventListener("focusin", (event) => describe(boxOf(event)));
	window.addEventListener("keydown", onKey);
	window.addEventListener("resize", resize);
	resize();
}

if (root)
	start();
})();
