// A simulation that runs while one looks: orders to it, pictures from it.

class Live {
  constructor(app, words) {
    this.app = app; this.version = 0; this.topologies = new Map(); this.received = 0; this.strength = 1; this.drop = { shape: "ball", kind: "soft" };
    this.noted = new Set(); this.glassed = new Set();
    this.held = null; this.wish = null; this.busy = false; this.epoch = words.epoch; this.meta = null;
    this.box = element("div", {});
    this.tabs = ["simulation", "view"].map((name) => button(`tab-${name}`, name, () => this.tab(name)));
    document.getElementById("panel").prepend(element("div", { className: "tabs" }, ...this.tabs), this.box);
    this.build(words);
  }

  // One half of the panel at a time.
  tab(name) {
    this.tabs.forEach((b) => b.classList.toggle("on", b.id === `tab-${name}`));
    this.box.hidden = name !== "simulation"; this.app.panel.looks.hidden = name === "simulation";
  }

  build(words) {
    const order = (what) => this.order(what), soft = words.materials.filter((m) => m.stiffness);
    this.chosen = words.materials.find((m) => m.name === this.chosen?.name) ?? soft[0] ?? words.materials[0];
    const axis = (k) => numberField(`gravity-${"xyz"[k]}`, `gravity ${"xyz"[k]}`, words.gravity[k], () => order({ do: "gravity", to: [0, 1, 2].map((i) => Number(document.getElementById(`gravity-${"xyz"[i]}`).value)) }));
    this.facts = element("dl", { className: "facts" });
    this.warnings = element("ul", { className: "notes", id: "warnings" });
    this.box.replaceChildren(
      heading("Simulation"),
      row(button("start", "start", () => order({ do: this.meta?.running ? "pause" : "start" }), "space"), button("step", "one step", () => order({ do: "step" }), "right arrow"), button("reset", "reset", () => order({ do: "reset" }))),
      this.facts,
      heading("Settings"),
      number("dt", "dt [s]", words.dt, (v) => order({ do: "dt", to: v })),
      element("label", {}, element("span", {}, "g [m/s²]"), element("span", { className: "vector" }, axis(0), axis(1), axis(2))),
      choice("method", "contact", words.methods, words.method, (v) => order({ do: "method", to: v })),
      choice("of", "of body", words.materials.map((m) => m.name), this.chosen.name, (name) => { this.chosen = words.materials.find((m) => m.name === name); this.material(); }),
      number("friction", "friction", 0, (v) => this.change("friction", v, (m) => (m.friction = v))),
      number("stiffness", "stiffness", 0, (v) => this.change("stiffness", v, (m) => (m.stiffness[1] = v))),
      element("div", { className: "hint" }, "A pair has the geometric mean of the friction of its two bodies, unless the scene names the pair."),
      heading("Hand"),
      element("div", { className: "hint" }, "Drag a body to pull it. Drag beside bodies to turn the view, with shift to move it."),
      slider("strength", "strength", -2, 2, 0.1, Math.log10(this.strength), (v) => (this.strength = 10 ** v)),
      heading("Drop a body"),
      choice("drop-shape", "shape", words.shapes, this.drop.shape, (v) => (this.drop.shape = v)),
      choice("drop-kind", "made", words.kinds, this.drop.kind, (v) => (this.drop.kind = v)),
      number("drop-size", "size [m]", short3(this.drop.size ?? words.drop_size), (v) => { this.drop.size = v; }),
      row(button("drop", "drop it from above", () => order({ do: "drop", ...this.drop }))),
      heading("Keep"),
      element("div", { className: "pair" }, button("record", "record a run", () => order({ do: "record" })), button("save-scene", "save as scene", () => order({ do: "save-scene" }))),
      element("div", { className: "hint" }, "A recording holds what happens after the button was pressed: press it before what you want to keep."),
      heading("Notes"), this.warnings,
    );
    this.told = null; // the list is a new one
    document.getElementById("start").classList.add("main");
    this.material();
  }

  // A property of the chosen body; kept only if it was not refused.
  async change(what, to, keep) {
    const of = this.chosen, answer = await this.order({ do: what, body: of.name, to });
    if (answer.ok) keep(of);
    return answer;
  }

  material() {
    const { friction, stiffness } = this.chosen, box = document.getElementById("stiffness");
    document.getElementById("friction").value = friction;
    box.disabled = !stiffness; box.value = stiffness ? stiffness[1] : "";
    box.parentElement.firstChild.textContent = stiffness?.[0].endsWith("spring_stiffness") ? "springs [N/m]" : "Young's [Pa]";
  }

  async order(what) {
    let answer;
    try { answer = await this.app.source.order(what); } catch { answer = { ok: false, say: "The simulation does not answer." }; }
    if (answer.say) say(answer.say, !answer.ok, answer.ok ? 5 : 10);
    return answer;
  }

  begin() { this.tab("simulation"); this.listen(); this.watch(); }

  refetch() { this.version = Math.min(this.version, (this.meta?.version ?? 1) - 1); }

  // Pictures as they come; each is asked for when the one before has been taken.
  async listen() {
    for (;;) {
      try {
        const frame = await this.app.source.next(this.version, this.app.stage.wanted);
        if (frame) { await this.take(frame); await new Promise((drawn) => requestAnimationFrame(drawn)); }
      } catch (error) {
        say(`No answer from the simulation; trying again. (${error.message})`, true, 2);
        await new Promise((over) => setTimeout(over, 1000));
      }
    }
  }

  async take(frame) {
    const { app } = this, number = frame.meta.topology;
    if (number !== this.epoch || !app.stage.topology) {
      const [words, topology] = await Promise.all([app.source.manifest(), app.source.topology(number)]);
      if (topology.meta.number !== number || words.epoch !== number) return; // it has changed again; the next picture tells
      const field = app.stage.options.field;
      this.epoch = number; this.held = null; app.stage.pull = null;
      const more = words.bodies.length !== app.stage.bodies.length;
      app.stage.take(words);
      if (more) app.stage.look(); // what was dropped must be seen
      app.stage.options.field = words.fields.some((f) => f.name === field) ? field : "body";
      this.topology = topology;
      this.build(words); app.panel.build();
    }
    this.look(frame.meta.glass);
    frame.topology = this.topology;
    const field = app.stage.field;
    if (field && frame.meta.range) [field.low, field.high] = frame.meta.range;
    this.version = frame.meta.version; this.meta = frame.meta; this.received++;
    const pull = frame.meta.pull;
    app.show(frame);
    app.stage.pull = pull ? { from: app.stage.place(pull.point), to: pull.to } : null;
    this.tell(frame.meta);
  }

  // Containers that have begun to hide something turn to glass, once: whoever wants them solid again has them so.
  look(glass) {
    const fresh = glass.filter((name) => !this.glassed.has(name)), { app } = this;
    this.glassed = new Set(glass);
    const turned = app.stage.bodies.filter((b) => fresh.includes(b.name) && b.shown === "solid");
    if (!turned.length) return;
    turned.forEach((b) => (b.shown = "glass"));
    app.panel.build();
    if (app.stage.topology === this.topology) app.stage.regroup();
  }

  tell(meta) {
    document.getElementById("start").textContent = meta.running ? "pause" : "start";
    document.getElementById("record").textContent = meta.recording ? "stop and save" : "record a run";
    const slow = meta.running && meta.ratio !== null && meta.ratio < 0.95;
    this.facts.replaceChildren(...facts({
      "simulated": `${meta.time.toFixed(3)} s`, "running for": `${meta.wall.toFixed(1)} s`,
      "speed": meta.ratio === null ? "paused" : `${meta.ratio.toFixed(2)} × real time`,
      "steps": meta.rate === null ? `${meta.step}` : `${meta.step}, ${meta.rate.toFixed(0)} per s`,
      "contacts": `${meta.contacts}`, "deepest": `${(1000 * meta.depth).toFixed(2)} mm`,
      "pull": meta.pull ? `${short(meta.pull.force)} N` : "–",
      "force, pointer": meta.pull ? `${(meta.rate ?? 0).toFixed(0)}, ${meta.pull.rate.toFixed(0)} per s` : "–",
    }));
    document.getElementById("hint").textContent = slow ? "Slower than real time: it takes every step, and the clock waits." : "";
    const key = meta.warnings.join("|");
    if (key === this.told) return;
    const fresh = meta.warnings.filter((w) => !this.noted.has(w));
    if (fresh.length) say(fresh.at(-1), false, 10);
    this.told = key; this.noted = new Set(meta.warnings);
    this.warnings.replaceChildren(...(meta.warnings.length ? meta.warnings : ["nothing so far"]).map((w) => element("li", {}, w)));
  }

  // What keeps the simulation from going on, and what waits for it.
  tellBusy({ doing, seconds, waiting }) {
    const box = document.getElementById("busy"), held = doing && seconds > 1;
    box.hidden = !held;
    if (!held) return;
    const queued = waiting.length ? ` Queued: ${waiting.join(", ")}.` : " What you order now is queued.";
    box.textContent = `${doing[0].toUpperCase()}${doing.slice(1)}: ${seconds.toFixed(0)} s so far.${queued}`;
  }

  async watch() {
    for (;;) {
      try { this.tellBusy(await (await fetch("/busy", { headers: KEY })).json()); this.app.showCurves(await (await fetch("/curves", { headers: KEY })).json()); } catch { /* the loop of pictures says so */ }
      await new Promise((over) => setTimeout(over, 700));
    }
  }

  // The pointer went down: is there something to pull?
  grab(x, y) {
    const { stage } = this.app, hit = stage.frame && stage.pick(x, y);
    if (!hit || hit.body.kind === "static") return false;
    this.held = { point: hit.point, far: dot(sub(stage.place(hit.point), stage.camera.position), scale(-1, stage.camera.axes().back)) };
    this.wish = null;
    this.order({ do: "grab", point: hit.point, strength: this.strength }).then((answer) => { if (!answer.ok) this.held = null; });
    return true;
  }

  // The pointer moves in the plane through the point that was grabbed.
  pullTo(x, y) {
    if (!this.held) return;
    const { camera, canvas } = this.app.stage, along = camera.ray(x, y, canvas.clientWidth / canvas.clientHeight);
    const ahead = dot(along, scale(-1, camera.axes().back));
    this.wish = add(camera.position, scale(this.held.far / ahead, along));
    if (!this.busy) this.send();
  }

  // One order at a time, always the newest place.
  async send() {
    this.busy = true;
    while (this.wish && this.held) { const to = this.wish; this.wish = null; await this.order({ do: "pull", to }); }
    this.busy = false;
  }

  release() { this.held = null; this.wish = null; this.order({ do: "release" }); }
}
