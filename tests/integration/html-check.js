// SPDX-License-Identifier: GPL-2.0-or-later
// Use the page of report-html.sh's session "known" by clicks and keys, and write what is wrong to the
// document.  On other pages, check what holds for all.
"use strict";
const wrong = window.vmopErrors || ["the page's errors are not collected"];

function check(isRight, what) {
	if (!isRight)
		wrong.push(what);
}

function one(selector) {
	return document.querySelector(selector);
}

function box(name) {
	return Array.from(document.querySelectorAll("#frames > g")).find(
		(group) => group.querySelector("title").textContent.startsWith(name + "\n"));
}

function widthOf(name) {
	return Number(box(name).querySelector("rect").getAttribute("width"));
}

// Return the texts of a column, by its place from 1 on.
function column(n) {
	return Array.from(document.querySelectorAll("#rows tbody td:nth-child(" + n + ")"),
			  (cell) => cell.firstChild.textContent);
}

function press(key) {
	const target = document.activeElement || document.body;
	const event = new KeyboardEvent("keydown", {key: key, bubbles: true, cancelable: true});
	target.dispatchEvent(event);
	return event;
}

function search(words) {
	one("#search").value = words;
	one("#search").dispatchEvent(new Event("input"));
}

function point(type, x) {
	const chart = one("#time-chart"), place = chart.getBoundingClientRect();
	chart.dispatchEvent(new PointerEvent(type, {
		bubbles: true, button: 0, clientX: place.left + x * place.width, clientY: place.top + 9}));
}

function slide(id, value) {
	one(id).value = value;
	one(id).dispatchEvent(new Event("input"));
}

function card(n) {
	return one("#summary .card:nth-child(" + n + ") b").textContent;
}

function checkSearch() {
	check(press("/").defaultPrevented && document.activeElement === one("#search"),
	      "/ does not lead to the field");
	search("^parse$");
	check(column(4).join() === "parse", "the table is not searched: " + column(4));
	check(box("parse").classList.contains("hit"), "a match is not marked");
	check(one("#message").textContent.includes("matched: 50.00 %"), "matched: " +
									one("#message").textContent);
	search("(");
	check(column(4).length === 0, "no regular expression: " + column(4));
	search("guest G1");
	check(column(4).sort().join() === "halt,start_kernel", "images are not searched: " + column(4));
	press("Escape");
	check(!one("g.hit") && column(4).length === 9, "Escape leaves the search");
}

function checkZoom() {
	const whole = widthOf("all"), render = widthOf("render");
	check(Math.abs(render / whole - 0.4) < 0.001, "widths are not shares");
	box("render").dispatchEvent(new MouseEvent("click", {bubbles: true}));
	check(Math.abs(widthOf("mmap") - whole) < 0.5, "a click does not zoom");
	check(!box("memchr"), "what is beside is not hidden");
	check(document.activeElement === box("render"), "the zoomed box has no focus");
	press("Escape");
	check(Math.abs(widthOf("render") - render) < 0.5, "Escape does not zoom out");
	box("all").focus();
	for (const key of ["ArrowDown", "ArrowRight"])
		press(key);
	check(document.activeElement === box("g1"), "arrow keys do not move");
	press("ArrowLeft");
	press("ArrowDown");
	press("Enter");
	check(Math.abs(widthOf("web") - whole) < 0.5, "Enter does not zoom");
	press("Escape");
}

function checkSort() {
	const button = () => one("#rows th[data-key=symbol] button");
	check(column(1)[0] === "40", "not sorted by share at first");
	button().click();
	check(column(4).join() === column(4).sort().join(), "symbols are not sorted");
	check(one("#rows th[data-key=symbol]").getAttribute("aria-sort") === "ascending", "aria-sort");
	check(document.activeElement === button(), "the heading loses the focus");
	button().click();
	check(column(4)[0] === "start_kernel", "symbols are not sorted the other way");
	one("#rows th[data-key=total] button").click();
	check(column(4)[0] === "main", "not sorted by total: " + column(4));
	one("#rows th[data-key=share] button").click();
}

function checkRange() {
	check(card(1) === "100" && card(2) === "100.000 ms", "summary: " + card(1) + ", " + card(2));
	point("pointerdown", 0.3);
	point("pointermove", 0.7);
	point("pointerup", 0.7);
	check(one("#spec code").textContent === "time:+1s..+3s", "spec: " + one("#spec").textContent);
	check(card(1) === "50", "the summary ignores the range: " + card(1));
	check(column(3).slice().sort().join() === "mmap,parse", "the table ignores the range: " +
								column(3));
	check(Math.abs(widthOf("mmap") / widthOf("all") - 0.8) < 0.001, "the graph ignores the range");
	check(!box("memchr") && !box("g1"), "the graph has boxes without samples");
	slide("#from", 3);
	check(one("#spec code").textContent === "time:+3s..+4s", "the slider: " +
								 one("#spec").textContent);
	check(column(3).join() === "halt", "the table ignores the slider: " + column(3));
	check(one("#bills tbody").textContent.includes("100.00 %"), "the bills ignore the slider");
	press("Escape");
	check(card(1) === "100" && !one("#spec code"), "Escape leaves the range");
}

// Thirty intervals of 1.2 s with the same samples each: thirty bars of one height, none beside or over another.
function checkBars() {
	const bars = [...document.querySelectorAll("#time-chart rect.t0")].map((bar) => bar.getBBox());
	check(bars.length === 30, "bars: " + bars.length);
	const heights = bars.map((bar) => bar.height), widths = bars.map((bar) => bar.width);
	check(Math.max(...heights) < 1.1 * Math.min(...heights), "heights: " + heights);
	check(Math.max(...widths) < 1.01 * Math.min(...widths), "widths: " + widths);
	for (let i = 1; i < bars.length; i++)
		check(Math.abs(bars[i].x - bars[i - 1].x - bars[i - 1].width - 1) < 0.01, "bar " + i);
	for (let i = 0; i < bars.length; i++) {
		point("pointerdown", (i + 0.5) / 30);
		point("pointerup", (i + 0.5) / 30);
		const chosen = one("#time-chart rect.chosen").getBBox();
		check(chosen.x <= bars[i].x + 0.01 && chosen.x + chosen.width >= bars[i].x + bars[i].width,
		      "bar " + i + " is not chosen whole");
		check(Number(card(1).replace(/[^0-9]/g, "")) > 0, "bar " + i + " is empty");
	}
	press("Escape");
}

// No name became markup, and the page fits the window.
function checkAll() {
	check(document.querySelectorAll("script").length === 6, "scripts: " +
								document.querySelectorAll("script").length);
	check(!document.querySelector("img, iframe, a, b b, title + title, svg script"), "foreign elements");
	check(document.documentElement.scrollWidth <= innerWidth, "wider than the window: " +
								   document.documentElement.scrollWidth);
	const rows = document.querySelectorAll("#rows tbody tr").length;
	check(rows > 0 && rows <= 100, "rows: " + rows);
}

checkAll();
if (document.title.startsWith("session known "))
	for (const one of [checkSearch, checkZoom, checkSort, checkRange])
		one();
if (document.title.startsWith("session late "))
	checkBars();
const result = document.createElement("p");
result.textContent = "checked: " + (wrong.join("; ") || "all is well");
document.body.append(result);
