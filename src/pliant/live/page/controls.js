// Small pieces of panels.

function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "style" && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((c) => c !== null));
  return made;
}

const heading = (words) => element("h3", {}, words);
const button = (id, words, press, title = "") => element("button", { id, title, onclick: press, type: "button" }, words);
const grid = (...children) => element("div", { className: "grid" }, ...children);
const row = (...children) => element("div", { className: "row" }, ...children);

function check(id, words, on, change, title = "") {
  return element("label", { className: "check", title }, element("input", { id, type: "checkbox", checked: on, onchange: (e) => change(e.target.checked) }), element("span", {}, words));
}

function choice(id, words, options, chosen, change) {
  const list = options.map((o) => (typeof o === "string" ? { value: o, words: o } : o));
  const select = element("select", { id, onchange: (e) => change(e.target.value) }, ...list.map((o) => element("option", { value: o.value, selected: o.value === chosen }, o.words)));
  return element("label", {}, element("span", {}, words), select);
}

function slider(id, words, low, high, step, value, change) {
  return element("label", {}, element("span", {}, words), element("input", { id, type: "range", min: low, max: high, step, value, oninput: (e) => change(Number(e.target.value)) }));
}

// Enter or leaving the field sends the number.
function number(id, words, value, change, step = "any") {
  return element("label", {}, element("span", {}, words), element("input", { id, type: "number", step, value, onchange: (e) => change(Number(e.target.value)) }));
}

function facts(pairs) {
  return Object.entries(pairs).flatMap(([name, value]) => [element("dt", {}, name), element("dd", { id: `fact-${name.replace(/\W+/g, "-")}` }, value)]);
}

let silence = 0;
function say(words, bad = false, seconds = 5) {
  const box = document.getElementById("message");
  box.textContent = words; box.hidden = !words; box.classList.toggle("bad", bad);
  clearTimeout(silence);
  silence = setTimeout(() => (box.hidden = true), 1000 * seconds);
}

function download(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
