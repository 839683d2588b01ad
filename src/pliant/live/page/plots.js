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

const short = (v) => String(Number(v.toPrecision(4)));

class Plot {
  constructor(data, seek) {
    this.canvas = element("canvas", {});
    this.heading = element("h4", {});
    this.legend = element("div", { className: "legend" });
    this.root = element("div", { className: "plot" }, this.heading, this.canvas, this.legend);
    this.now = null;
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
    for (const { x, y } of data.curves) for (let i = 0; i < y.length; i++) {
      low = Math.min(low, y[i]); high = Math.max(high, y[i]); start = Math.min(start, x[i]); end = Math.max(end, x[i]);
    }
    [this.factor, this.unit] = prefixed(Math.max(high, -low), data.unit);
    const room = 0.04 * (high - low || 1);
    this.box = { low: low < 0 ? low - room : 0, high: high + room, start: Number.isFinite(start) ? start : 0, end: end > start ? end : (Number.isFinite(start) ? start : 0) + 1 };
    this.heading.textContent = data.title + (this.unit ? ` [${this.unit}]` : "");
    this.legend.replaceChildren(...(data.curves.length > 1 ? data.curves : []).map((c) =>
      element("span", {}, element("i", { className: "swatch", style: `background: rgb(${c.colour})` }), c.name)));
    this.draw();
  }

  timeAt(px) { const w = this.canvas.clientWidth; return this.box.start + ((px - 40) / Math.max(1, w - 48)) * (this.box.end - this.box.start); }

  draw() {
    const ratio = window.devicePixelRatio || 1, w = this.canvas.clientWidth || 280, h = this.canvas.clientHeight || 138, pen = this.canvas.getContext("2d");
    if (this.canvas.width !== w * ratio || this.canvas.height !== h * ratio) { this.canvas.width = w * ratio; this.canvas.height = h * ratio; }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    const { low, high, start, end } = this.box;
    const px = (x) => 40 + ((x - start) / (end - start)) * (w - 48), py = (y) => h - 18 - ((y - low) / (high - low)) * (h - 24);
    pen.font = "10px system-ui, sans-serif"; pen.lineWidth = 1;
    pen.textAlign = "right"; pen.textBaseline = "middle";
    for (const v of ticks(low / this.factor, high / this.factor, 4)) {
      const y = py(v * this.factor);
      pen.strokeStyle = v === 0 ? "#b9bfc9" : "#eceff3"; pen.beginPath(); pen.moveTo(40, y); pen.lineTo(w - 8, y); pen.stroke();
      pen.fillStyle = "#6a717d"; pen.fillText(short(v), 36, y);
    }
    pen.textAlign = "center"; pen.textBaseline = "top";
    for (const v of ticks(start, end, 4)) pen.fillText(short(v), px(v), h - 14);
    for (const { x, y, colour } of this.data.curves) {
      pen.strokeStyle = `rgb(${colour})`; pen.lineWidth = 1.3; pen.beginPath();
      for (let i = 0; i < x.length; i++) i ? pen.lineTo(px(x[i]), py(y[i])) : pen.moveTo(px(x[i]), py(y[i]));
      pen.stroke();
    }
    if (this.now !== null && this.now >= start - 1e-12) {
      pen.strokeStyle = "#2c3038"; pen.lineWidth = 1; pen.beginPath(); pen.moveTo(px(this.now), 4); pen.lineTo(px(this.now), h - 18); pen.stroke();
    }
  }

  cursor(time) { this.now = time; this.draw(); }
}
