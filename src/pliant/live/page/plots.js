// Curves over time with a cursor at the moment that is shown.

const NICE = [1, 2, 2.5, 5, 10];

function ticks(low, high, count) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * NICE.find((n) => n * power >= rough * 0.999);
  const out = [];
  for (let v = Math.ceil(low / step) * step; v <= high + 1e-9 * step; v += step) out.push(Math.abs(v) < 1e-9 * step ? 0 : v);
  return out;
}

const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];

function prefixed(largest, unit) {
  if (!unit) return [1, ""];
  const [factor, letter] = PREFIXES.find(([f]) => largest >= 0.9999 * f) ?? [1, ""];
  return [factor, `${letter}${unit}`];
}

const short3 = (v) => String(Number(v.toPrecision(3)));
const short = (v) => String(Number(v.toPrecision(4)));

const TINY = 1e-10; // rounding noise, in any unit

function withUnit(value, unit) {
  if (Math.abs(value) < TINY) value = 0;
  const [factor, full] = prefixed(Math.abs(value), unit);
  return `${String(Number((value / factor).toPrecision(3)))} ${full}`.trim();
}

// The sign of a curve; dashed where colours come again.
const signOf = ({ colour, dashed }) => element("i", { className: "swatch", style: dashed ? `background: repeating-linear-gradient(90deg, rgb(${colour}) 0 3px, var(--paper) 3px 5px)` : `background: rgb(${colour})` });

const LEFT = 44, RIGHT = 8, BELOW = 18;

class Plot {
  // `seek` goes to a time, `peak` to the moment of the largest value of a curve; both are missing where time cannot be gone back in.
  constructor(data, seek, peak) {
    this.canvas = element("canvas", {});
    this.words = element("span", {});
    this.peak = seek ? element("button", { className: "peak", type: "button", onclick: () => peak(this.most.x, (t) => this.valueAt(this.most.curve, t)) })
      : element("span", { className: "peak still" });
    this.heading = element("h4", {}, this.words, this.peak);
    this.legend = element("div", { className: "legend" });
    this.root = element("div", { className: "plot" }, this.heading, this.canvas, this.legend);
    this.now = null; this.seek = seek;
    const at = (event) => { const box = this.canvas.getBoundingClientRect(); seek(this.timeAt(event.clientX - box.left)); };
    if (seek) {
      this.canvas.addEventListener("pointerdown", (e) => { this.canvas.setPointerCapture(e.pointerId); this.held = true; at(e); });
      this.canvas.addEventListener("pointermove", (e) => this.held && at(e));
      this.canvas.addEventListener("pointerup", () => (this.held = false));
    }
    this.show(data);
  }

  show(data) {
    this.data = data;
    let low = 0, high = 0, start = Infinity, end = -Infinity;
    this.most = { x: 0, y: -Infinity, curve: null };
    for (const curve of data.curves) for (let i = 0, { x, y } = curve; i < y.length; i++) {
      if (y[i] > this.most.y) this.most = { x: x[i], y: y[i], curve };
      low = Math.min(low, y[i]); high = Math.max(high, y[i]); start = Math.min(start, x[i]); end = Math.max(end, x[i]);
    }
    [this.factor, this.unit] = prefixed(Math.max(high, -low), data.unit);
    const room = 0.04 * (high - low || 1);
    this.box = { low: low < 0 ? low - room : 0, high: high + room, start: Number.isFinite(start) ? start : 0, end: end > start ? end : (Number.isFinite(start) ? start : 0) + 1 };
    this.words.textContent = data.title + (this.unit ? ` [${this.unit}]` : "");
    const { curve } = this.most, whose = data.curves.length > 1 && curve ? [signOf(curve)] : [];
    this.peak.replaceChildren(...(this.most.y > TINY ? [...whose, `max ${withUnit(this.most.y, data.unit)} at ${short(this.most.x)} s`] : []));
    this.peak.title = `${curve ? `${curve.name}: ` : ""}the largest value` + (this.seek ? "; click to go there" : "");
    this.values = data.curves.map(() => element("b", {}));
    this.legend.replaceChildren(...data.curves.map((c, i) =>
      element("span", {}, signOf(c), c.name, this.values[i])));
    this.tell(); this.draw();
  }

  timeAt(px) { const w = this.canvas.clientWidth; return this.box.start + ((px - LEFT) / Math.max(1, w - LEFT - RIGHT)) * (this.box.end - this.box.start); }

  // Value of a curve at the last step up to a time, or null before its first.
  valueAt({ x, y }, time) {
    let low = 0, high = x.length - 1;
    while (low < high) { const mid = (low + high + 1) >> 1; if (x[mid] <= time + 1e-9) low = mid; else high = mid - 1; }
    return !x.length || x[0] > time + 1e-9 ? null : y[low];
  }

  // Values where the cursor is; without a cursor, the last ones.
  tell() {
    this.data.curves.forEach((curve, k) => {
      const value = this.valueAt(curve, this.now ?? Infinity);
      this.values[k].textContent = value === null ? "" : short3(Math.abs(value) < TINY ? 0 : value / this.factor);
    });
  }

  draw() {
    const ratio = window.devicePixelRatio || 1, w = this.canvas.clientWidth || 280, h = this.canvas.clientHeight || 138, pen = this.canvas.getContext("2d");
    if (this.canvas.width !== w * ratio || this.canvas.height !== h * ratio) { this.canvas.width = w * ratio; this.canvas.height = h * ratio; }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const { low, high, start, end } = this.box;
    const px = (x) => LEFT + ((x - start) / (end - start)) * (w - LEFT - RIGHT), py = (y) => h - BELOW - ((y - low) / (high - low)) * (h - BELOW - 6);
    pen.font = "10px system-ui, sans-serif"; pen.lineWidth = 1;
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const v of ticks(low / this.factor, high / this.factor, 4)) {
      const y = py(v * this.factor);
      pen.strokeStyle = v === 0 ? themed("zero") : themed("grid"); pen.beginPath(); pen.moveTo(LEFT, y); pen.lineTo(w - RIGHT, y); pen.stroke();
      pen.fillStyle = themed("soft"); pen.fillText(short(v), LEFT - 5, y);
    }
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const v of ticks(start, end, 6)) if (px(v) < w - 40) pen.fillText(short(v), px(v), h - BELOW + 5);
    pen.textAlign = "right"; pen.fillText("t [s]", w - RIGHT, h - BELOW + 5);
    for (const { time, until } of this.data.marks ?? []) { // what was changed by hand
      if (time < start || time > end) continue;
      if (until !== null) { pen.fillStyle = "#8b93a022"; pen.fillRect(px(time), 2, px(Math.min(until, end)) - px(time), h - BELOW - 2); }
      pen.strokeStyle = "#8b93a0"; pen.lineWidth = 1; pen.setLineDash([3, 2]); pen.beginPath(); pen.moveTo(px(time), 2); pen.lineTo(px(time), h - BELOW); pen.stroke(); pen.setLineDash([]);
    }
    for (const { x, y, colour, dashed } of this.data.curves) {
      pen.setLineDash(dashed ? [5, 3] : []); pen.strokeStyle = `rgb(${colour})`; pen.lineWidth = 1.5; pen.lineJoin = "round"; pen.beginPath();
      for (let i = 0; i < x.length; i++) i ? pen.lineTo(px(x[i]), py(y[i])) : pen.moveTo(px(x[i]), py(y[i]));
      pen.stroke();
    }
    pen.setLineDash([]);
    if (this.now !== null && this.now >= start - 1e-12) {
      pen.strokeStyle = themed("ink"); pen.lineWidth = 1; pen.beginPath(); pen.moveTo(px(this.now), 2); pen.lineTo(px(this.now), h - BELOW); pen.stroke();
    }
  }

  cursor(time) { this.now = time; this.tell(); this.draw(); }
}
