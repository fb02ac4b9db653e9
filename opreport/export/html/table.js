// SPDX-License-Identifier: GPL-2.0-or-later
// The search field and the table of functions: sorted by any column, of the chosen time.
"use strict";
(function () {
const FIRST = 100, MORE = 500;
const {state, make} = vmop;
const section = vmop.addSection("functions", "Functions");
const field = make("input", {type: "search", id: "search", placeholder: "Search ( / )",
			     "aria-label": "Search for functions, images and domains"});
const clear = make("button", {type: "button"}, "Reset (Esc)");
const status = make("p", {class: "soft", role: "status"});
const more = make("button", {type: "button", id: "more"}, "More rows");
const rest = make("p", {class: "soft", id: "rest"});
const head = make("tr", {}), body = make("tbody", {});
let rows = [], shownEvent, limit = FIRST, sortedBy = "share", isDescending = true;

const COLUMNS = [
	{key: "samples", name: "samples", isNumber: true, of: (row) => row.count.samples},
	{key: "share", name: "%", isNumber: true, of: (row) => vmop.shareOf(row.count)},
	{key: "total", name: "total %", isNumber: true, of: (row) => vmop.shareOf(row.total),
	 isShown: () => vmop.data.has_stacks && vmop.isWhole()},
	{key: "symbol", name: "symbol", of: (row) => row.symbol},
	{key: "image", name: "image", isWide: true, of: (row) => row.image},
	{key: "domain", name: "domain", isWide: true, of: (row) => row.domain},
	{key: "kind", name: "mode", isWide: true, of: (row) => row.kind},
];

function columns() {
	return COLUMNS.filter((column) => !column.isShown || column.isShown());
}

function readRows(event) {
	const texts = vmop.data.texts;
	rows = event.rows.map(function (row) {
		const [domain, symbol, image, kind, samples, weight, totalSamples, totalWeight, times] = row;
		return {domain: texts[domain], symbol: texts[symbol], image: texts[image],
			kind: vmop.kindOf(kind)[1], own: {samples: samples, weight: weight},
			total: {samples: totalSamples, weight: totalWeight}, times: times};
	});
	shownEvent = event;
	limit = FIRST;
}

function compare(a, b) {
	const column = COLUMNS.find((one) => one.key === sortedBy), x = column.of(a), y = column.of(b);
	const order = column.isNumber ? x - y : x < y ? -1 : x > y ? 1 : 0;
	return isDescending ? -order : order;
}

function drawHead() {
	head.replaceChildren(...columns().map(function (column) {
		const isSorted = column.key === sortedBy;
		const mark = isSorted ? (isDescending ? " \u25bc" : " \u25b2") : "";
		const button = make("button", {type: "button"}, column.name + mark);
		button.addEventListener("click", () => sortBy(column));
		return make("th", {scope: "col", "data-key": column.key,
				   class: (column.isNumber ? "number" : "") + (column.isWide ? " wide" : ""),
				   "aria-sort": !isSorted ? "none" : isDescending ? "descending"
										  : "ascending"}, button);
	}));
}

function makeCell(row, column) {
	const value = column.of(row);
	const cell = make("td", {class: (column.isNumber ? "number" : "name") +
					(column.isWide ? " wide" : "")});
	if (!column.isNumber) {
		cell.append(value);
		if (column.key === "symbol")
			cell.append(make("span", {class: "where"},
					 [row.image, row.domain].filter(Boolean).join(", ")));
		return cell;
	}
	cell.append(column.key === "samples" ? vmop.showNumber(value) : value.toFixed(2));
	if (column.key === "share")
		cell.append(make("span", {class: "share",
					  style: "width: " + Math.min(100, value) + "%"}));
	return cell;
}

function drawRest() {
	const event = state.event, n = event.n_rows - event.rows.length;
	const share = {samples: event.rest_samples, weight: event.rest_weight};
	rest.textContent = !n ? "" : "The smallest " + vmop.showNumber(n) +
		" rows are not listed. They sum up to " + vmop.showSamples(event.rest_samples) +
		(vmop.isWhole() ? ", " + vmop.showPercent(vmop.shareOf(share)) : "") + ".";
}

function draw() {
	if (shownEvent !== state.event)
		readRows(state.event);
	if (!columns().some((column) => column.key === sortedBy))
		sortedBy = "share";
	for (const row of rows)
		row.count = vmop.isWhole() ? row.own : vmop.sumTimes(row.times);
	const matches = state.words ? vmop.matcher(state.words) : () => true;
	const found = rows.filter((row) => (vmop.isWhole() || row.count.samples) &&
		(matches(row.symbol) || matches(row.image) || matches(row.domain)));
	found.sort(compare);
	drawHead();
	body.replaceChildren(...found.slice(0, limit).map((row) =>
		make("tr", {}, ...columns().map((column) => makeCell(row, column)))));
	const sum = found.reduce((all, row) => all + vmop.shareOf(row.count), 0);
	status.textContent = vmop.showNumber(found.length) + " rows, " + vmop.showPercent(sum) +
		(found.length > limit ? "; the first " + limit + " are shown" : "");
	more.hidden = found.length <= limit;
	drawRest();
}

function sortBy(column) {
	isDescending = sortedBy === column.key ? !isDescending : Boolean(column.isNumber);
	sortedBy = column.key;
	draw();
	head.querySelector("[data-key='" + column.key + "'] button").focus();
}

function search(words) {
	state.words = words;
	limit = FIRST;
	vmop.update();
}

function reset() {
	field.value = "";
	state.words = "";
	if (vmop.unzoom)
		vmop.unzoom();
	vmop.choose(0, state.event.spans);
}

function onKey(event) {
	if (event.key === "Escape") {
		reset();
	} else if (event.key === "/" && event.target !== field) {
		field.focus();
		field.select();
	} else {
		return;
	}
	event.preventDefault();
}

const tools = make("div", {class: "row", role: "search"}, field, clear);
field.addEventListener("input", () => search(field.value));
clear.addEventListener("click", reset);
more.addEventListener("click", function () {
	limit += MORE;
	draw();
});
window.addEventListener("keydown", onKey);
document.getElementById("flame").before(tools);
section.append(status, make("div", {class: "scroll"},
	make("table", {id: "rows"}, make("caption", {class: "hidden-label"}, "Functions"),
	     make("thead", {}, head), body)), make("p", {}, more), rest);
vmop.drawers.push(draw);
vmop.update();
})();
