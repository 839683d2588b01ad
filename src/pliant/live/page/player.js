// Plays the frames of a run: what time it is, what is loaded, and the bar at the bottom.

const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const ROOM = 300e6; // bytes of frames that are kept
const AHEAD = 4;

class Player {
  constructor(app, words) {
    this.app = app; this.times = words.times; this.topologies = words.topologies; this.count = words.times.length;
    this.at = 0; this.time = words.times[0]; this.playing = false; this.loop = true; this.received = 0;
    this.frames = new Map(); this.asked = new Map(); this.held = 0; this.known = new Map();
    const whole = words.times[this.count - 1] - words.times[0];
    this.speed = SPEEDS.find((s) => whole / s <= 12) ?? 10;
    this.build();
  }

  build() {
    this.bar = element("input", { id: "time", type: "range", min: 0, max: this.count - 1, step: 1, value: 0, "aria-label": "frame", oninput: (e) => { this.pause(); this.seek(Number(e.target.value)); } });
    this.play_ = button("play", "play", () => (this.playing ? this.pause() : this.play()), "space");
    this.words = element("span", { id: "where", className: "numbers" });
    document.getElementById("timeline").replaceChildren(
      button("to-start", "|◀", () => { this.pause(); this.seek(0); }, "first frame"), button("step-back", "◀", () => this.stepBy(-1), "left arrow"), this.play_,
      button("step-forward", "▶", () => this.stepBy(1), "right arrow"), button("to-end", "▶|", () => { this.pause(); this.seek(this.count - 1); }, "last frame"), this.bar, this.words,
      choice("speed", "speed", SPEEDS.map((s) => ({ value: String(s), words: `${s} ×` })), String(this.speed), (v) => (this.speed = Number(v))),
      check("loop", "loop", this.loop, (on) => (this.loop = on)),
    );
    this.play_.classList.add("main");
  }

  play() {
    if (this.at === this.count - 1) this.time = this.times[0];
    this.playing = true; this.play_.textContent = "pause"; this.last = performance.now(); this.wall = 0; this.gone = 0;
    this.app.tick();
  }

  pause() { this.playing = false; this.play_.textContent = "play"; this.hint(""); }

  stepBy(n) { this.pause(); this.seek(Math.max(0, Math.min(this.count - 1, this.at + n))); }

  // The frame nearest to a time.
  seekTime(time) {
    const i = this.indexAt(time), next = Math.min(i + 1, this.count - 1);
    this.pause(); this.seek(this.times[next] - time < time - this.times[i] ? next : i);
  }

  // Of the two frames around the moment of a largest value, the one where the value is larger.
  seekPeak(time, valueAt) {
    const i = this.indexAt(time), next = Math.min(i + 1, this.count - 1), value = (k) => valueAt(this.times[k]) ?? 0;
    const best = this.times[i] < time - 1e-9 && value(next) > value(i) ? next : i;
    this.pause(); this.seek(best);
    if (Math.abs(this.times[best] - time) > 1e-9) say(`The largest value, at ${short(time)} s, is between two frames; this is the one of them where it is larger.`);
  }

  indexAt(time) {
    let low = 0, high = this.count - 1;
    while (low < high) { const mid = (low + high + 1) >> 1; if (this.times[mid] <= time + 1e-12) low = mid; else high = mid - 1; }
    return low;
  }

  // Frame i with the field that is shown, from what is held or from the source.
  async load(i) {
    const wanted = this.app.stage.wanted, key = this.key(i);
    if (this.frames.has(key)) return this.frames.get(key);
    if (!this.asked.has(key)) this.asked.set(key, this.fetch(i, wanted, key));
    return this.asked.get(key);
  }

  // A file holds all fields in each frame.
  key(i) { return this.app.inside ? i : `${i} ${this.app.stage.wanted}`; }

  async fetch(i, wanted, key) {
    try {
      const number = this.topologies[i];
      if (!this.known.has(number)) this.known.set(number, this.app.source.topology(number));
      const [frame, topology] = await Promise.all([this.app.source.frame(i, wanted), this.known.get(number)]);
      frame.topology = topology; this.received++;
      this.frames.set(key, frame); this.held += frame.bytes;
      for (const [old, value] of this.frames) { if (this.held < ROOM) break; this.frames.delete(old); this.held -= value.bytes; }
      return frame;
    } finally { this.asked.delete(key); }
  }

  async seek(i) {
    this.at = i; this.time = this.times[i];
    let frame;
    try { frame = await this.load(i); } catch (error) { return say(error.message, true, 20); }
    if (this.at === i) this.app.show(frame, i);
  }

  // One turn of the screen while playing: time goes on only as fast as frames come.
  turn(now) {
    const whole = this.times[this.count - 1], passed = (now - this.last) / 1000, dt = Math.min(0.1, passed);
    this.last = now;
    let time = this.time + dt * this.speed;
    const ended = time >= whole;
    if (ended) {
      if (this.loop && this.at === this.count - 1) time = this.times[0];
      else { time = whole; if (!this.loop && this.at === this.count - 1) this.pause(); }
    }
    const i = this.indexAt(time), frame = this.frames.get(this.key(i));
    for (let k = 0; k <= AHEAD; k++) this.load(this.loop ? (i + k) % this.count : Math.min(i + k, this.count - 1)).catch((e) => { this.pause(); say(e.message, true, 20); });
    if (!ended) this.pace(passed, frame ? Math.max(0, time - this.time) : 0);
    if (!frame) return;
    this.time = time;
    if (i !== this.at || this.app.shownWanted !== this.app.stage.wanted) { this.at = i; this.app.show(frame, i); }
  }

  // Say so if time goes on slower than asked for, judged every two seconds.
  pace(wall, gone) {
    this.wall += wall; this.gone += gone;
    if (this.wall < 2) return;
    const speed = this.gone / this.wall;
    this.hint(speed < 0.9 * this.speed ? `Plays at ${short3(speed)} × instead of ${this.speed} ×: frames do not come or are not drawn faster.` : "");
    this.wall = 0; this.gone = 0;
  }

  hint(words) { document.getElementById("hint").textContent = words; }

  shown(i) { this.bar.value = i; this.words.textContent = `${this.times[i].toFixed(4)} s, ${i + 1}/${this.count}`; }
}
