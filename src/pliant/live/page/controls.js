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
  let pointed = false; // a list opened with the pointer gives the arrow keys back
  const chose = (e) => { change(e.target.value); if (pointed) e.target.blur(); };
  const select = element("select", { id, onpointerdown: () => (pointed = true), onkeydown: (e) => { if (e.key === "Tab") pointed = false; }, onblur: () => (pointed = false), onchange: chose }, ...list.map((o) => element("option", { value: o.value, selected: o.value === chosen }, o.words)));
  return element("label", {}, element("span", {}, words), select);
}

function slider(id, words, low, high, step, value, change) {
  return element("label", {}, element("span", {}, words), element("input", { id, type: "range", min: low, max: high, step, value, oninput: (e) => change(Number(e.target.value)) }));
}

// Enter or leaving the field sends the number; what is no number or is refused gives way to what was there before.
function numberField(id, name, value, change) {
  const took = async (e) => {
    const field = e.target, text = field.value.trim(), before = field.before ?? "";
    if (text === "" || !Number.isFinite(Number(text))) { field.value = before; return say(`${name}: give a number; it is still ${before}.`, true); }
    const answer = await change(Number(text));
    if (answer && !answer.ok) field.value = before; else field.before = text;
  };
  return element("input", { id, type: "number", step: "any", value, "aria-label": name, onfocus: (e) => (e.target.before = e.target.value), onchange: took });
}

function number(id, words, value, change) { return element("label", {}, element("span", {}, words), numberField(id, words, value, change)); }

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
