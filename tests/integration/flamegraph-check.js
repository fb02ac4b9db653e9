// SPDX-License-Identifier: GPL-2.0-or-later
// Use a flame graph of report-flamegraph.sh's session "known" by clicks and keys, and write what is
// wrong to the document.
"use strict";
const wrong = [];
addEventListener("error", (event) => wrong.push(event.message));

function check(isRight, what) {
	if (!isRight)
		wrong.push(what);
}

const groups = Array.from(document.querySelectorAll("#frames > g"));
const message = document.getElementById("message");
const field = document.querySelector("#tools input, #tools *[placeholder]");

function box(name) {
	return groups.find((group) => group.querySelector("title").textContent.startsWith(name + "\n"));
}

function widthOf(name) {
	return Number(box(name).querySelector("rect").getAttribute("width"));
}

function press(key, options) {
	const target = document.activeElement || document.documentElement;
	const event = new KeyboardEvent("keydown", Object.assign({key: key, bubbles: true,
								  cancelable: true}, options));
	target.dispatchEvent(event);
	return event;
}

function search(words) {
	field.value = words;
	field.dispatchEvent(new Event("input"));
}

const whole = widthOf("all"), render = widthOf("render");
check(whole > 500 && Math.abs(render / whole - 0.4) < 0.001, "widths are not shares");

box("render").dispatchEvent(new MouseEvent("click", {bubbles: true}));
check(Math.abs(widthOf("render") - whole) < 0.5, "a click does not zoom");
check(Math.abs(widthOf("mmap") - whole) < 0.5, "callees do not widen");
check(box("memchr").style.display === "none", "what is beside is not hidden");
check(message.textContent.includes("render"), "the zoomed function is not named");
press("Escape");
check(Math.abs(widthOf("render") - render) < 0.5, "Escape does not zoom out");
check(box("memchr").style.display === "", "Escape leaves boxes hidden");

check(press("f", {ctrlKey: true}).defaultPrevented, "Ctrl-F is the browser's");
check(document.activeElement === field, "Ctrl-F does not lead to the field");
search("^parse$");
check(message.textContent.includes("matched: 50.00 %"), "search: " + message.textContent);
check(box("parse").classList.contains("hit"), "a match is not marked");
search("main|parse");
check(message.textContent.includes("matched: 90.00 %"), "nested: " + message.textContent);
search("(");
check(message.textContent.includes("matched: 0.00 %"), "no regular expression: " +
							message.textContent);
press("Escape");
check(!document.querySelector("g.hit"), "Escape leaves matches marked");

box("all").focus();
press("ArrowDown");
check(document.activeElement === box("host"), "an arrow key does not move");
press("ArrowDown");
press("ArrowDown");
press("Enter");
check(Math.abs(widthOf("main") - whole) < 0.5, "Enter does not zoom");

const result = document.createElementNS("http://www.w3.org/2000/svg", "text");
result.textContent = "checked: " + (wrong.join("; ") || "all is well");
document.documentElement.append(result);
