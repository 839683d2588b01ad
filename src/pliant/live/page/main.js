// Puts the page together.

class App {
  constructor(source, words, inside) {
    this.source = source; this.inside = inside;
    this.stage = new Stage(document.getElementById("canvas"), words);
    this.dirty = true; this.ticking = false; this.shownField = null; this.shownWanted = null;
    if (words.kind === "live") this.live = new Live(this, words);
    else this.player = new Player(this, words);
    this.plots = [];
    this.looks = new Looks(this);
    this.stage.look(); // the window has its final shape only now
    this.link = new Link(this);
    this.panel = new Panel(this);
    this.showCurves(words.curves);
    this.listen();
  }

  showCurves(curves) {
    const same = curves.length === this.plots.length;
    if (same) curves.forEach((data, i) => this.plots[i].show(data));
    else {
      this.plots = curves.map((data) => new Plot(data, this.player && ((t) => this.player.seekTime(t)), this.player && ((t, at) => this.player.seekPeak(t, at))));
      document.getElementById("plots").replaceChildren(...this.plots.map((p) => p.root));
      this.plots.forEach((p) => p.draw());
    }
  }

  show(frame, i) {
    if (this.stage.topology !== frame.topology) { this.stage.frame = null; this.stage.setTopology(frame.topology); }
    this.stage.setFrame(frame);
    this.shownField = this.stage.options.field; this.shownWanted = this.stage.wanted;
    this.panel.show(frame.meta);
    if (this.player) { this.player.shown(i); this.plots.forEach((p) => p.cursor(frame.meta.time)); }
    this.redraw();
  }

  redraw() { this.dirty = true; this.panel?.bar(); this.tick(); }

  // A picture, and without a graphics card a smoother one once nothing has moved for a moment.
  paint(fine = false) {
    this.stage.draw(fine);
    this.panel.legend();
    axesOf(this.stage.camera, document.getElementById("axes"));
    this.link.tell();
    clearTimeout(this.rest);
    if (!fine && this.stage.painter.soft && !this.player?.playing && !this.live?.meta?.running) this.rest = setTimeout(() => this.paint(true), 250);
  }

  tick() {
    if (this.ticking) return;
    this.ticking = true;
    requestAnimationFrame((now) => {
      this.ticking = false;
      if (this.player?.playing) this.player.turn(now);
      if (this.dirty) { this.dirty = false; this.paint(); }
      if (this.player?.playing) this.tick();
    });
  }

  // After another field was chosen.
  async refetch() {
    if (this.player) { if (!this.player.playing) await this.player.seek(this.player.at); }
    else this.live.refetch();
  }

  listen() {
    const canvas = this.stage.canvas, camera = this.stage.camera;
    let held = null;
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      const pulling = this.live && e.button === 0 && !e.shiftKey && !e.ctrlKey && this.live.grab(...this.placeOf(e));
      held = pulling ? "pull" : e.button === 0 && !e.shiftKey ? "orbit" : "pan";
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!held) return;
      if (held === "pull") this.live.pullTo(...this.placeOf(e));
      else if (held === "orbit") camera.orbit(e.movementX, e.movementY);
      else camera.pan(e.movementX, e.movementY, canvas.clientHeight);
      this.redraw();
    });
    const over = () => { if (held === "pull") this.live.release(); held = null; };
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) canvas.addEventListener(name, over);
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); camera.zoom(Math.exp(0.0012 * e.deltaY)); this.redraw(); }, { passive: false });
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("webglcontextlost", () => say("The graphics card gave up; load the page again.", true, 600));
    // a window of another shape: as long as nobody has turned the camera it stands where everything is seen
    new ResizeObserver(() => { if (!camera.turned && canvas.clientHeight) this.stage.look(); this.redraw(); this.plots.forEach((p) => p.draw()); }).observe(canvas);
    document.addEventListener("keydown", (e) => {
      if (/^(text|number)$/.test(e.target.type) || e.target.tagName === "SELECT" || (e.target.type === "range" && e.key !== " ")) return;
      if (/^[1-7]$/.test(e.key)) document.getElementById(`camera-${Object.keys(PRESETS)[e.key - 1]}`).click();
      const keys = this.player ? { Home: () => document.getElementById("to-start").click(), End: () => document.getElementById("to-end").click(), " ": () => document.getElementById("play").click(), ArrowLeft: () => this.player.stepBy(-1), ArrowRight: () => this.player.stepBy(1) }
        : { " ": () => document.getElementById("start").click(), ArrowRight: () => document.getElementById("step").click() };
      if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
    });
  }

  placeOf(e) {
    const box = this.stage.canvas.getBoundingClientRect();
    return [(2 * (e.clientX - box.left)) / box.width - 1, 1 - (2 * (e.clientY - box.top)) / box.height];
  }
}

async function begin() {
  const inside = typeof PLIANT_DATA !== "undefined", source = inside ? new FileSource(PLIANT_DATA) : new ServerSource();
  const words = await source.manifest();
  document.title = `${words.title} - pliant`;
  const app = new App(source, words, inside);
  window.pliant = app; // for people who like the console
  if (app.player) await app.player.seek(0);
  else app.live.begin();
}

begin().catch((error) => { say(error.message, true, 3600); throw error; });
