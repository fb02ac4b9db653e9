// SPDX-License-Identifier: GPL-2.0-or-later
// The page's data and state, its summary and the bills.  timeline.js, flame.js and table.js add
// their parts.  Texts of the data are only ever set as text.
"use strict";
const vmop = (function () {
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const main = document.querySelector("main");
const drawers = [];
const state = {event: data.events[0], from: 0, to: data.events[0].spans, words: ""};

// By enum vmop_frame_kind: the class of flamegraph.css, and the name.
const KINDS = [["u", "user"], ["k", "kernel"], ["h", "hypervisor"], ["gu", "guest user"],
	       ["gk", "guest kernel"], ["o", "mode unknown"], ["e", "stack incomplete"], ["e", ""],
	       ["e", ""]];
const PARTS = ["user", "kernel", "hypervisor", "VMM", "unknown"];

function kindOf(kind) {
	return KINDS[kind] || ["d", ""];
}

// ---- elements

function setAttributes(element, attributes) {
	for (const [name, value] of Object.entries(attributes || {}))
		element.setAttribute(name, value);
	return element;
}

// Return a new element.  Children are elements or texts.
function make(tag, attributes, ...children) {
	const element = setAttributes(document.createElement(tag), attributes);
	element.append(...children);
	return element;
}

function makeSvg(tag, attributes, ...children) {
	const element = setAttributes(document.createElementNS(SVG, tag), attributes);
	element.append(...children);
	return element;
}

// Add a section with a heading.  Returns it.
function addSection(id, heading) {
	const section = make("section", {id: id, "aria-label": heading}, make("h2", {}, heading));
	main.append(section);
	return section;
}

// ---- counts

function isWhole() {
	return state.from === 0 && state.to === state.event.spans;
}

// Return the samples and the weight of an item in the chosen time.
function sumTimes(times) {
	const event = state.event, step = event.weight_unit ? 3 : 2;
	let samples = 0, weight = 0;
	for (let i = 0; i < times.length; i += step) {
		if (times[i] < state.from || times[i] >= state.to)
			continue;
		samples += times[i + 1];
		weight += step === 3 ? times[i + 2] * event.weight_unit
				     : times[i + 1] * event.sample_weight;
	}
	return {samples: samples, weight: weight};
}

// Return what shares are of: the weight, or the samples of an event without weights.
function valueOf(count) {
	return state.event.weight ? count.weight : count.samples;
}

let whole = {samples: 0, weight: 0};

function shareOf(count) {
	const all = valueOf(whole);
	return all ? 100 * valueOf(count) / all : 0;
}

function showNumber(number) {
	return Math.round(number).toLocaleString("en-US");
}

function nameSamples(number) {
	return number === 1 ? "sample" : "samples";
}

function showSamples(number) {
	return showNumber(number) + " " + nameSamples(number);
}

function showPercent(percent) {
	return percent.toFixed(2) + " %";
}

function showWeight(weight) {
	const unit = state.event.unit;
	if (unit !== "ns")
		return showNumber(weight) + (unit ? " " + unit : "");
	if (weight >= 1e9)
		return (weight / 1e9).toFixed(3) + " s";
	return weight >= 1e6 ? (weight / 1e6).toFixed(3) + " ms" : (weight / 1e3).toFixed(3) + " us";
}

// Return "12 s", "3 min 5 s" or "2 h 10 min".
function showSpan(seconds) {
	const s = Math.round(seconds);
	if (s < 120)
		return s + " s";
	if (s < 7200)
		return Math.floor(s / 60) + " min" + (s % 60 ? " " + s % 60 + " s" : "");
	return Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
}

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

// ---- summary

function addCard(cards, value, name, isWarning) {
	cards.append(make("div", {class: "card"},
			  make("b", isWarning ? {class: "warn"} : {}, value), make("span", {}, name)));
}

function showCertainty() {
	const all = data.certain.reduce((sum, n) => sum + n, 0);
	const names = ["exact", "likely", "ambiguous"];
	return data.certain.map((n, i) => [n, names[i]]).filter(([n]) => n)
		.map(([n, name]) => (100 * n / all).toFixed(n === all ? 0 : 2) + " % " + name)
		.join(", ");
}

function drawSummary(section) {
	const event = state.event;
	const lost = data.losses.reduce((sum, loss) => sum + loss[2], 0);
	const cards = section.querySelector(".cards");
	cards.replaceChildren();
	addCard(cards, showNumber(whole.samples),
		nameSamples(whole.samples) + (isWhole() ? "" : " in the chosen time"));
	addCard(cards, event.weight ? showWeight(whole.weight) : "-", "weight of " + event.label);
	addCard(cards, showSpan((state.to - state.from) * event.span_s), "time");
	// Losses have no time here: they are of the whole session also in a part of it.
	const isPart = data.is_of_part || !isWhole();
	addCard(cards, lost ? showNumber(lost) : "none",
		isPart ? "losses in the whole session" : "losses", lost > 0);
	addCard(cards, showCertainty() || "-", "certainty of the attribution");
}

function addSummary() {
	const section = addSection("summary", "Summary");
	const list = make("ul", {}, ...data.lines.map((line) => make("li", {}, line)));
	section.append(make("div", {class: "cards"}));
	if (data.losses.length)
		section.append(make("p", {class: "warn"}, "Lost: " + data.losses.map(
			([name, domain, n]) => name + " " + showNumber(n) +
					       (domain ? " (" + domain + ")" : "")).join(", ") +
			(data.is_of_part ? " (in the whole session)" : "")));
	if (data.without_time)
		section.append(make("p", {class: "warn"}, showNumber(data.without_time) +
			" samples have no time here: a chosen time does not contain them"));
	if (data.n_lines_left_out)
		list.append(make("li", {}, "and " + data.n_lines_left_out + " more lines"));
	section.append(make("details", {}, make("summary", {}, "About this session"), list));
	if (data.events.length > 1)
		section.append(makeEventChoice());
	drawers.push(() => drawSummary(section));
}

function makeEventChoice() {
	const choice = make("select", {id: "event"});
	data.events.forEach((event, i) => choice.append(make("option", {value: i}, event.label)));
	choice.addEventListener("change", function () {
		state.event = data.events[Number(choice.value)];
		state.from = 0;
		state.to = state.event.spans;
		update();
	});
	const left = data.n_events_left_out;
	return make("p", {class: "row"}, make("label", {for: "event"}, "Event"), choice,
		    left ? left + " more events: choose with event:NAME" : "");
}

// ---- bills

function makeKey(className, name) {
	return make("span", {class: "key"}, make("i", {class: className}), name);
}

function drawBills(section) {
	const table = make("table", {}), body = make("tbody", {});
	table.append(make("thead", {}, make("tr", {}, make("th", {scope: "col"}, "domain"),
		make("th", {scope: "col", class: "number"}, "samples"),
		make("th", {scope: "col", class: "number"}, "share"),
		make("th", {scope: "col", style: "width: 50%"}, "parts"))), body);
	for (const [name, ...parts] of state.event.bills) {
		const counts = parts.map(sumTimes);
		const all = {samples: counts.reduce((sum, c) => sum + c.samples, 0),
			     weight: counts.reduce((sum, c) => sum + c.weight, 0)};
		const said = PARTS.map((part, i) => [part, shareOf(counts[i])])
			.filter(([, share]) => share).map(([part, share]) => part + " " + showPercent(share));
		const bar = make("div", {class: "bar", role: "img", "aria-label": said.join(", ")});
		counts.forEach((count, i) => bar.append(setAttributes(make("i", {
			class: "p" + i, title: PARTS[i] + " " + showPercent(shareOf(count))}),
			{style: "width: " + shareOf(count) + "%"})));
		body.append(make("tr", {}, make("td", {class: "name"}, data.texts[name]),
			make("td", {class: "number"}, showNumber(all.samples)),
			make("td", {class: "number"}, showPercent(shareOf(all))), make("td", {}, bar)));
	}
	section.querySelector(".scroll").replaceChildren(table);
}

function addBills() {
	const section = addSection("bills", "Bill by domain");
	section.append(make("p", {class: "soft"}, "A guest's bill has its own code, the hypervisor's " +
		"work for it and its VMM."), make("div", {class: "scroll"}),
		make("p", {}, ...PARTS.map((part, i) => makeKey("p" + i, part))));
	drawers.push(() => drawBills(section));
}

// ---- updates

// Draw everything again, after a change of the state.
function update() {
	whole = {samples: 0, weight: 0};
	for (const [, ...parts] of state.event.bills)
		for (const count of parts.map(sumTimes)) {
			whole.samples += count.samples;
			whole.weight += count.weight;
		}
	if (isWhole())
		whole = {samples: state.event.samples, weight: state.event.weight};
	for (const draw of drawers)
		draw();
}

// Choose the spans [from, to).
function choose(from, to) {
	const n = state.event.spans;
	state.from = Math.max(0, Math.min(from, n - 1));
	state.to = Math.max(state.from + 1, Math.min(to, n));
	update();
}

addSummary();
addBills();
return {data: data, state: state, drawers: drawers, make: make, makeSvg: makeSvg,
	addSection: addSection, setAttributes: setAttributes, isWhole: isWhole, sumTimes: sumTimes,
	valueOf: valueOf, shareOf: shareOf, showNumber: showNumber, showSamples: showSamples,
	showPercent: showPercent, showWeight: showWeight, showSpan: showSpan, matcher: matcher, kindOf: kindOf,
	makeKey: makeKey, update: update, choose: choose};
})();
