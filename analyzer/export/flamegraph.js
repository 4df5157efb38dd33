// The flame graph's script: makes the picture as wide as its window; zoom, search, keys, state in the URL.
// Without it the picture is whole, with tooltips. Boxes come depth first: a box stands on the last one before it
// that is a level lower.
"use strict";
(function () {
	var svg = document.currentScript ? document.currentScript.closest("svg") : document.documentElement;
	var XHTML = "http://www.w3.org/1999/xhtml", SVG = svg.namespaceURI;
	var WIDE = /[\u1100-\u115f\u2e80-\uffff]/; // characters that take two columns, as good as
	var MARGIN = 10, LEAST = 0.3; // pixels; narrower boxes are not shown
	var data = svg.dataset, row = +data.row, top = +data.top, inverted = data.inverted === "1";
	var head = svg.querySelector("#head"), details = svg.querySelector("#details"), time = svg.querySelector("#time");
	var boxes = [], zoomed = 0, focused = 0, term = "", hits = [], hint = "/ search, click zooms, ? all keys";
	var width = 0, column = 7.25, controls, input, output, back, help;

	// ---- what stands in the picture --------------------------------------------------------------------------

	function readBoxes() {
		var open = [];
		svg.querySelectorAll("#boxes > g").forEach(function (group, index) {
			var rect = group.querySelector("rect"), place = Math.round((rect.getAttribute("y") - top) / row);
			var words = group.querySelector("title").textContent;
			var level = inverted ? place : data.levels - 1 - place;
			open.length = level;
			boxes.push({
				group: group, rect: rect, text: group.querySelector("text"), words: words, level: level,
				parent: level ? open[level - 1] : -1, joined: group.classList.contains("rest"),
				name: words.slice(0, words.indexOf("\n")), label: group.dataset.n, number: group.dataset.s,
				x: +rect.getAttribute("x") - MARGIN, width: +rect.getAttribute("width"), y: +rect.getAttribute("y"),
				value: +group.dataset.v, old: +group.dataset.o, hit: false, shown: true
			});
			open.push(index);
			group.dataset.i = index;
		});
	}

	// Whether box a stands on b, or is b.
	function isOn(a, b) {
		while (boxes[a].level > boxes[b].level)
			a = boxes[a].parent;
		return a === b;
	}

	// ---- numbers, as in the rest of the picture --------------------------------------------------------------

	function number(value) {
		var units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"], unit = 0;
		if (data.unit === "time")
			return value < 1000 ? value + " us" : value < 999950 ? (value / 1e3).toFixed(1) + " ms" :
				(value / 1e6).toFixed(2) + " s";
		if (data.unit === "count")
			return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
		while (value >= (unit ? 1023.95 : 1024) && unit < 6) {
			value /= 1024;
			unit++;
		}
		return (unit ? value.toFixed(1) : value) + " " + units[unit];
	}

	function share(part, whole) {
		var percent = 100 * part / whole;
		if (!whole)
			return "-";
		return part && percent < 0.05 ? "<0.1%" : part < whole && percent >= 99.95 ? ">99.9%" : percent.toFixed(1) + "%";
	}

	// ---- drawing ---------------------------------------------------------------------------------------------

	// The label and its number if they fit; else as much of the label as does: outer scopes go first, then the end.
	function fit(label, number, columns) {
		var scope;
		if (columns < 3)
			return "";
		if (label.length + number.length + 2 <= columns && !WIDE.test(label))
			return label + "  " + number;
		while (label.length > columns && (scope = label.indexOf("::")) >= 0 && !/[<({]/.test(label.slice(0, scope)))
			label = label.slice(scope + 2);
		if (label.length <= columns && !WIDE.test(label))
			return label;
		var fitting = "", used = 0;
		for (var character of label) {
			used += WIDE.test(character) ? 2 : 1;
			if (used > columns - 1)
				return fitting + "\u2026";
			fitting += character;
		}
		return fitting;
	}

	function show(box, x, pixels) {
		var seen = pixels >= LEAST, label = seen ? fit(box.label, box.number, Math.floor((pixels - 6) / column)) : "";
		if (seen !== box.shown)
			box.group.style.display = seen ? "" : "none";
		box.shown = seen;
		if (!seen)
			return;
		box.rect.setAttribute("x", MARGIN + x);
		box.rect.setAttribute("width", Math.max(pixels - (pixels > 2 ? 0.5 : 0), LEAST));
		if (label && !box.text) {
			box.text = document.createElementNS(SVG, "text");
			box.text.setAttribute("y", box.y + row - 5);
			box.group.appendChild(box.text);
		}
		if (!box.text)
			return;
		box.text.setAttribute("x", MARGIN + x + 3);
		if (box.text.textContent !== label)
			box.text.textContent = label;
	}

	function draw() {
		var base = boxes[zoomed], scale = width / (base.width || 1);
		boxes.forEach(function (box, index) {
			var above = index < zoomed && isOn(zoomed, index);
			box.group.classList.toggle("above", above);
			if (above)
				show(box, 0, width);
			else if (box.x + box.width <= base.x || box.x >= base.x + base.width || !isOn(index, zoomed))
				show(box, 0, 0);
			else
				show(box, (box.x - base.x) * scale, box.width * scale);
		});
		back.style.visibility = zoomed ? "visible" : "hidden";
		drawTime(base, scale);
	}

	function timeText(us, step) {
		if (us < 1e3 && step < 1e3)
			return us + " us";
		return us < 1e6 ? (us / 1e3).toFixed(step < 1e3 ? 2 : 1) + " ms" : (us / 1e6).toFixed(step < 1e5 ? 3 : 2) + " s";
	}

	function drawTime(base, scale) {
		if (!time)
			return;
		var places = time.dataset.x.split(" ").map(Number), times = time.dataset.us.split(" ").map(Number), next = 0;
		time.textContent = "";
		places.forEach(function (place, index) {
			var x = (place - base.x) * scale, until = (index + 1 < places.length ? places[index + 1] : Infinity);
			if (until <= base.x || place >= base.x + base.width || x < next && !(next === 0 && x < 0) || x > width - 90)
				return;
			x = Math.max(x, 0);
			var line = document.createElementNS(SVG, "line"), text = document.createElementNS(SVG, "text");
			[["x1", x + MARGIN], ["x2", x + MARGIN], ["y1", top - 16], ["y2", top - 2]].forEach(function (pair) {
				line.setAttribute(pair[0], pair[1]);
			});
			text.setAttribute("x", x + MARGIN + 4);
			text.setAttribute("y", top - 6);
			text.textContent = timeText(times[index], times[Math.min(index + 1, times.length - 1)] - times[index]);
			time.append(line, text);
			next = x + 110;
		});
	}

	function resize() {
		var all = svg === document.documentElement ? window.innerWidth : svg.parentNode.clientWidth;
		if (svg === document.documentElement) // the scroll bar's part
			all = svg.clientWidth || all;
		svg.setAttribute("width", "100%");
		svg.removeAttribute("viewBox");
		width = Math.max(all - 2 * MARGIN, 100);
		var scale = width / boxes[0].width;
		boxes.forEach(function (box) {
			box.x *= scale;
			box.width *= scale;
		});
		if (time)
			time.dataset.x = time.dataset.x.split(" ").map(function (x) { return x * scale; }).join(" ");
		controls.setAttribute("x", Math.max(all - MARGIN - 620, 0));
		controls.setAttribute("width", Math.min(all - MARGIN, 620));
		draw();
	}

	// ---- what people do --------------------------------------------------------------------------------------

	function tell(index) {
		details.textContent = index < 0 ? hint : boxes[index].words.replace(/\n/g, "  \u00b7  ");
	}

	function remember(push) {
		var state = [];
		if (zoomed)
			state.push("zoom=" + zoomed);
		if (term)
			state.push("search=" + encodeURIComponent(term));
		var hash = "#" + state.join("&");
		if (hash === (location.hash || "#"))
			return;
		try { // no hash: "#" alone, which a page from a file may set, too
			history[push ? "pushState" : "replaceState"](null, "", hash);
		} catch (error) {
			location.hash = hash;
		}
	}

	function recall() {
		var index = 0, text = "";
		location.hash.slice(1).split("&").forEach(function (pair) {
			var at = pair.indexOf("="), value = pair.slice(at + 1);
			try {
				value = decodeURIComponent(value);
			} catch (error) {
				value = "";
			}
			if (pair.slice(0, at) === "zoom" && /^\d+$/.test(value) && +value < boxes.length && !boxes[+value].joined)
				index = +value;
			if (pair.slice(0, at) === "search")
				text = value;
		});
		zoomed = focused = index;
		input.value = text;
		find(text);
		draw();
	}

	function zoom(index) {
		if (index < 0 || boxes[index].joined || index === zoomed)
			return;
		zoomed = index;
		draw();
		countHits();
		remember(true);
	}

	function focus(index) {
		boxes[focused].group.removeAttribute("tabindex");
		focused = index;
		boxes[focused].group.setAttribute("tabindex", "0");
		boxes[focused].group.focus();
		tell(focused);
	}

	// A regular expression, or the words themselves; capitals matter if there are any.
	function matcher(text) {
		var flags = /[A-Z]/.test(text) ? "" : "i";
		try {
			return new RegExp(text, flags);
		} catch (error) {
			return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
		}
	}

	function find(text) {
		var expression = text && matcher(text);
		term = text;
		hits = [];
		boxes.forEach(function (box, index) {
			box.hit = Boolean(expression) && !box.joined && index > 0 && expression.test(box.name);
			box.group.classList.toggle("hit", box.hit);
			if (box.hit)
				hits.push(index);
		});
		countHits();
	}

	// What the matching boxes have, in what is shown: a box on a matching one counts with that one.
	function countHits() {
		var sum = 0, old = 0, count = 0, outermost = -1, base = boxes[zoomed];
		hits.forEach(function (index) {
			if (!isOn(index, zoomed))
				return;
			count++;
			if (outermost >= 0 && isOn(index, outermost))
				return;
			outermost = index;
			sum += boxes[index].value;
			old += boxes[index].old;
		});
		if (!term)
			output.textContent = "";
		else if (!count)
			output.textContent = "no match";
		else
			output.textContent = (data.joined === "1" ? "at least " : "") + share(sum, base.value) + " matched: " + number(sum) +
				(old === old ? ", was " + number(old) : "") + (zoomed ? " of this box" : "");
	}

	function search() {
		input.focus();
		input.select();
	}

	function nextHit(step) {
		var shown = hits.filter(function (index) { return boxes[index].shown && isOn(index, zoomed); });
		if (!shown.length)
			return;
		var at = shown.indexOf(focused);
		focus(shown[at < 0 ? (step > 0 ? 0 : shown.length - 1) : (at + step + shown.length) % shown.length]);
	}

	// Up and down are as in the picture, left and right stay in the row.
	function move(key) {
		var box = boxes[focused], up = inverted ? "ArrowUp" : "ArrowDown", next = -1;
		if (!box.shown)
			return focus(zoomed);
		if (key === up) {
			next = box.parent;
		} else if (key === "ArrowUp" || key === "ArrowDown") {
			next = boxes.findIndex(function (other) { return other.shown && other.parent === focused; });
		} else {
			var row = [];
			boxes.forEach(function (other, index) {
				if (other.shown && other.level === box.level)
					row.push(index);
			});
			next = row[row.indexOf(focused) + (key === "ArrowRight" ? 1 : -1)];
		}
		if (next >= 0)
			focus(next);
	}

	function toggleHelp() {
		if (help) {
			help.remove();
			help = null;
			return;
		}
		help = document.createElementNS(SVG, "g");
		help.id = "help";
		var rect = document.createElementNS(SVG, "rect"), lines = [
			"click, Enter      zoom to a box; the boxes it stands on stay, to go back",
			"Esc, 0, Home      the whole picture (Esc first ends a search)",
			"arrows, Tab       from box to box",
			"/, Ctrl-F, F3     search by name: words or a regular expression",
			"n, N              next and previous match (in the search: Enter)",
			"?                 these keys"];
		help.append(rect);
		lines.forEach(function (line, index) {
			var text = document.createElementNS(SVG, "text");
			text.setAttribute("x", 24);
			text.setAttribute("y", 34 + 20 * index);
			text.setAttribute("font-family", "monospace");
			text.textContent = line;
			help.append(text);
		});
		[["x", 8], ["y", 8], ["width", 640], ["height", 20 * lines.length + 24], ["rx", 6]].forEach(function (pair) {
			rect.setAttribute(pair[0], pair[1]);
		});
		head.append(help);
	}

	function onKey(event) {
		var key = event.key, plain = !event.ctrlKey && !event.metaKey && !event.altKey, used = true;
		if (key === "F3" && hits.length && event.target !== input)
			nextHit(event.shiftKey ? -1 : 1);
		else if (key === "F3" || (key === "f" && (event.ctrlKey || event.metaKey) && event.target !== input))
			search();
		else if (!plain)
			return;
		else if (event.target === input)
			used = onInputKey(event);
		else if (key === "Escape" && help || key === "?")
			toggleHelp();
		else if (key === "Escape" && term)
			endSearch();
		else if (key === "Escape" || key === "0" || key === "Home")
			zoom(0);
		else if (key === "/")
			search();
		else if (key === "n" || key === "N")
			nextHit(key === "n" ? 1 : -1);
		else if (/^Arrow/.test(key))
			move(key);
		else if ((key === "Enter" || key === " ") && event.target.dataset && event.target.dataset.i)
			zoom(+event.target.dataset.i);
		else
			used = false;
		if (used)
			event.preventDefault();
	}

	function endSearch() {
		input.value = "";
		find("");
		remember(false);
	}

	function onInputKey(event) {
		if (event.key === "Enter") {
			nextHit(event.shiftKey ? -1 : 1);
		} else if (event.key === "Escape") {
			endSearch();
			input.blur();
		} else {
			return false;
		}
		return true;
	}

	// ---- set up ----------------------------------------------------------------------------------------------

	function make(name, parent) {
		return parent.appendChild(document.createElementNS(XHTML, name));
	}

	// The search field is HTML: SVG has none.
	function makeControls() {
		controls = document.createElementNS(SVG, "foreignObject");
		var box = make("span", make("div", controls));
		controls.id = "controls";
		controls.setAttribute("height", 26);
		controls.setAttribute("y", details.getAttribute("y") - 39);
		output = make("output", box);
		back = make("button", box);
		back.textContent = "whole picture";
		back.addEventListener("click", function () { zoom(0); });
		input = make("input", box);
		input.type = "search";
		input.placeholder = "search ( / )";
		input.setAttribute("aria-label", "search functions by name");
		input.addEventListener("input", function () {
			find(input.value);
			remember(false);
		});
		head.insertBefore(controls, details);
	}

	function indexOf(event) {
		var group = event.target.closest && event.target.closest("#boxes > g");
		return group ? +group.dataset.i : -1;
	}

	function measure() {
		var text = document.createElementNS(SVG, "text");
		text.textContent = "0".repeat(100);
		svg.querySelector("#boxes").append(text);
		column = text.getComputedTextLength() / 100 || column;
		text.remove();
	}

	function stick() {
		var y = svg === document.documentElement ? window.scrollY : 0;
		head.setAttribute("transform", "translate(0," + y + ")");
		if (time)
			time.setAttribute("transform", "translate(0," + y + ")");
	}

	readBoxes();
	makeControls();
	measure();
	resize();
	recall();
	tell(-1);
	boxes[zoomed].group.setAttribute("tabindex", "0");
	if (svg === document.documentElement) // else the first Tab goes to the document
		svg.setAttribute("tabindex", "-1");
	svg.addEventListener("click", function (event) {
		var index = indexOf(event);
		if (index < 0)
			return;
		focus(index);
		zoom(index);
	});
	svg.addEventListener("mouseover", function (event) {
		var index = indexOf(event);
		if (index >= 0)
			tell(index);
	});
	svg.addEventListener("focusin", function (event) {
		if (indexOf(event) >= 0)
			tell(indexOf(event));
	});
	window.addEventListener("keydown", onKey);
	window.addEventListener("resize", resize);
	window.addEventListener("scroll", stick);
	window.addEventListener("hashchange", recall);
	window.addEventListener("popstate", recall);
	if (!inverted && svg === document.documentElement) // the first row is at the bottom
		window.scrollTo(0, document.documentElement.scrollHeight);
	stick();
})();
