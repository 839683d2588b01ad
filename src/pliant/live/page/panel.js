// The panel on the left: what is shown and how; and the colour bar, pictures and movies.

class Panel {
  constructor(app) {
    this.app = app;
    this.root = document.getElementById("panel");
    this.looks = element("div", {});
    this.movie = new Movie(app);
    this.root.append(this.looks);
    this.build();
  }

  get stage() { return this.app.stage; }

  set(name, value) { this.stage.options[name] = value; this.stage.frame && this.stage.prepare(); this.app.redraw(); }

  build() {
    const { stage, app } = this, o = stage.options, toggle = (id, words, name, title = "") => check(id, words, o[name], (on) => this.set(name, on), title);
    const names = stage.words.fields.map((f) => ({ value: f.name, words: f.title }));
    const bodies = ["", ...stage.bodies.map((b) => b.name)].map((n) => ({ value: n, words: n || "nothing" }));
    this.looks.replaceChildren(
      heading("Colour"),
      choice("field", "by", [...names, { value: "body", words: "body" }], o.field, (name) => { o.field = name; app.refetch(); }),
      check("frame-range", "range of this moment", o.frameRange, (on) => this.set("frameRange", on), "else 96 % of the values of the whole run that are not zero; what is above has the last colour"),
      heading("Contact"),
      grid(
        toggle("show-points", "points", "points", "contact points: blue sticks, red slips"), toggle("show-normals", "normals", "normals", "normals of contacts"),
        toggle("show-forces", "forces", "forces", "force of each contact as an arrow"), toggle("show-carrying", "active nodes", "carrying", "skin points that carry contact"),
        toggle("show-pairs", "feature pairs", "pairs", "vertex-face and edge-edge pairs of the penalty methods, by state"),
        check("show-common", "intersection", o.common, (on) => { o.common = on; app.refetch(); app.redraw(); }, "the volume that bodies have in common"),
      ),
      slider("force-scale", "arrow length", 0.1, 4, 0.05, o.forceScale, (v) => this.set("forceScale", v)),
      heading("Detection trees"),
      check("show-tree", "boxes and spheres", o.tree, (on) => this.showTree(on), "boxes around triangles, spheres around surfels"),
      slider("tree-level", "level", 0, stage.marks.deepest, 1, Math.min(o.level, stage.marks.deepest), (v) => this.set("level", v)),
      heading("Shape"),
      grid(toggle("wireframe", "wireframe", "wire"), toggle("shadow", "shadow", "shadow")),
      choice("cut", "cut", ["off", "x", "y", "z"], o.cut, (v) => this.set("cut", v)),
      slider("cut-at", "at", 0, 1, 0.005, o.cutAt, (v) => this.set("cutAt", v)),
      heading("Camera"),
      element("div", { className: "cameras" }, ...Object.keys(PRESETS).map((name) => button(`camera-${name}`, name === "three-quarter" ? "home" : name, () => { stage.camera.preset(name); app.redraw(); }))),
      choice("follow", "follow", bodies, o.follow, (name) => { o.follow = name; }),
      heading("Bodies"),
      ...(stage.bodies.length > 4 ? [choice("body-all", "all", [{ value: "", words: "each as below" }, "solid", "glass", "hidden"], "", (shown) => this.all(shown))] : []),
      element("div", { className: "bodies" }, ...stage.bodies.map((b) => this.body(b))),
      heading("Page"),
      choice("map", "colours", [{ value: "pliant", words: "blue to red" }, ...Object.keys(MAPS)], app.looks.map, (v) => app.looks.use("map", v)),
      choice("theme", "theme", Object.keys(THEMES), app.looks.theme, (v) => app.looks.use("theme", v)),
      heading("Save what is shown"),
      row(button("save-picture", "picture", () => this.picture(), "png"), ...(app.player ? [button("save-movie", "movie", () => this.movie.press(), "webm, as played: at the speed that is chosen")] : [])),
      ...(stage.words.notes?.length ? [heading("Notes"), element("ul", { className: "notes" }, ...stage.words.notes.map((n) => element("li", {}, n)))] : []),
    );
    this.bar();
  }

  all(shown) {
    if (!shown) return;
    this.stage.bodies.forEach((b) => (b.shown = shown));
    this.stage.regroup(); this.build(); this.app.redraw();
  }

  // The tree of this topology is fetched when it is first wanted.
  async showTree(on) {
    this.stage.options.tree = on;
    await this.fetchTree();
    this.app.redraw();
  }

  async fetchTree() {
    const { stage, app } = this, topology = stage.topology;
    if (!stage.options.tree || stage.tree || !topology) return;
    const tree = (topology.tree ??= app.source.hierarchy(topology.meta.number)), found = await tree;
    if (stage.topology !== topology) return;
    stage.tree = found;
    const box = document.getElementById("tree-level");
    box.max = stage.marks.deepest; stage.options.level = Math.min(stage.options.level, stage.marks.deepest); box.value = stage.options.level;
    app.redraw();
  }

  body(body) {
    const swatch = element("i", { className: "swatch", style: `background: rgb(${body.colour})` });
    const change = (shown) => { body.shown = shown; this.stage.regroup(); this.app.redraw(); };
    const label = choice(`body-${body.name}`, body.name, ["solid", "glass", "hidden"], body.shown, change);
    label.firstChild.prepend(swatch);
    return label;
  }

  // The colour bar; numbers are short, the unit has the prefix.
  bar() {
    const { field, largest, range } = this.stage, box = document.getElementById("bar");
    box.hidden = !field;
    if (!field) return;
    const [low, high] = range ?? [field.low, field.high], [factor, unit] = prefixed(Math.max(Math.abs(low), Math.abs(high)), field.unit);
    this.barWords = field.title + (unit ? ` [${unit}]` : "");
    this.barLabels = [0, 0.5, 1].map((f) => short((low + f * (high - low)) / factor));
    const most = field.most.value > (largest?.value ?? 0) ? field.most : { value: largest?.value ?? 0, body: largest?.body?.name, time: this.stage.frame?.meta.time };
    const above = !this.stage.options.frameRange && most.value > high * (1 + 1e-6);
    if (above) this.barLabels[2] += "+";
    const body = largest?.body, how = body && body.shown !== "solid" ? ` (${body.shown})` : "";
    this.barNow = [!body ? "" : `largest now ${withUnit(largest.value, field.unit)}` + (Math.abs(largest.value) > TINY ? ` on ${body.name}${how}` : ""), ...(above ? ["the range holds 96 % of the values", ...(this.app.player ? [`largest of ${this.stage.words.looked < this.app.player.count ? `${this.stage.words.looked} frames` : "the run"} ${withUnit(most.value, field.unit)} on ${most.body} at ${short(most.time)} s`] : [])] : [])];
    const key = [this.barWords, ...this.barNow, ...this.barLabels].join();
    if (key === this.barKey) return;
    this.barKey = key;
    document.getElementById("bar-title").textContent = this.barWords;
    const there = (l) => element("button", { id: "bar-most", type: "button", title: "go there", onclick: () => this.app.player.seekTime(most.time) }, l);
    document.getElementById("bar-now").replaceChildren(...this.barNow.map((l, i) => element("div", {}, i === 2 ? there(l) : l)));
    document.getElementById("bar-labels").replaceChildren(...this.barLabels.map((l) => element("span", {}, l)));
    const stops = this.stage.words.colours.ramp.map((c) => `rgb(${c})`).join(", ");
    document.getElementById("bar-ramp").setAttribute("style", `background: linear-gradient(to right, ${stops})`);
  }

  show(meta) {
    this.bar();
    document.getElementById("title").textContent = this.stage.words.title;
    document.getElementById("clock").textContent = `t = ${meta.time.toFixed(4)} s, step ${meta.step}, ${meta.contacts} contacts` + (meta.inverted ? `, ${meta.inverted} inverted elements` : "");
    if (this.stage.options.tree && !this.stage.tree) this.fetchTree();
  }

  // What the marks in the picture mean, at its lower left.
  legend() {
    const { options: o, frame, words, marks } = this.stage, lines = [], rgb = (c) => `rgb(${c.map((v) => Math.round(255 * v))})`;
    const line = (...parts) => lines.push(parts.map((p) => (typeof p === "string" ? p : element("span", {}, element("i", { className: "swatch", style: `background: ${p[0]}` }), p[1]))));
    if (!frame) return;
    if (o.points) line([rgb(CONTACT.sticks), "contact that sticks"], [rgb(CONTACT.slips), "slips"]);
    if (o.normals) line([rgb(CONTACT.normal), "normal, out of the first of each pair"]);
    if (o.forces) line([rgb(CONTACT.force), `force on the second of each pair (named as in the curves), the longest ${withUnit(marks.longest ?? 0, "N")}`]);
    if (o.points || o.forces) (frame.meta.resolved ?? []).forEach((pair) => line(`resolved in this step, ${pair}`));
    const plane = this.stage.cutPlane, axis = plane && plane.findIndex((v) => v !== 0), where = plane ? withUnit(plane[3] * plane[axis], "m") : "";
    document.getElementById("cut-at").parentElement.firstChild.textContent = plane ? `at ${where}` : "at";
    if (plane) line(`cut at ${o.cut} = ${where}`);
    if (o.carrying) line([rgb(CONTACT.carries), "active node"]);
    if (o.pairs) {
      const states = words.colours.states, counts = frame.meta.pairs;
      if (counts) line(...Object.entries(counts).map(([name, n]) => [`rgb(${states[name]})`, `${n} ${name}`]));
      else line("No feature pairs are known at this moment" + (this.app.player ? ": they are kept at checkpoints, by the penalty methods." : "."));
    }
    if (o.common) {
      const common = frame.meta.common;
      if (common?.length) common.forEach(([name, volume]) => line([rgb(COMMON), `${name}: ${short(1e6 * volume)} cm³`]));
      else line([rgb(COMMON), common ? "no closed skins overlap" : "..."]);
    }
    if (o.tree) line([rgb(TREE), `level ${o.level} of ${marks.deepest}: ${marks.nodeCount ?? 0} nodes` + (marks.nodeCount >= MOST_NODES ? " (more are not drawn)" : "")]);
    if (words.floors.some((f) => this.stage.bodies.find((b) => b.id === f.body)?.shown !== "hidden")) line(`tiles of ${withUnit(words.floors[0].tile, "m")}`);
    document.getElementById("legend").replaceChildren(...lines.map((l) => element("div", {}, ...l)));
  }

  // The canvas with title, time and colour bar on it.
  composed() {
    this.stage.draw(!this.app.player?.playing);
    const from = this.stage.canvas, paper = element("canvas", { width: from.width - (from.width % 2), height: from.height - (from.height % 2) }), pen = paper.getContext("2d"), u = Math.max(9, from.height / 45);
    pen.drawImage(from, 0, 0);
    pen.fillStyle = themed("ink"); pen.textBaseline = "top"; pen.font = `bold ${1.15 * u}px sans-serif`;
    pen.fillText(this.stage.words.title, u, u);
    pen.font = `${u}px sans-serif`;
    pen.fillText(`t = ${this.stage.frame.meta.time.toFixed(4)} s`, u, 2.7 * u);
    if (this.stage.field) {
      const left = paper.width - 15 * u, ramp = pen.createLinearGradient(left, 0, paper.width - u, 0);
      this.stage.words.colours.ramp.forEach((c, i, all) => ramp.addColorStop(i / (all.length - 1), `rgb(${c})`));
      pen.textAlign = "right"; pen.fillText(this.barWords, paper.width - u, u);
      pen.fillStyle = ramp; pen.fillRect(left, 2.5 * u, 14 * u, 0.8 * u); pen.fillStyle = themed("ink");
      this.barLabels.forEach((l, i) => { pen.textAlign = ["left", "center", "right"][i]; pen.fillText(l, left + 7 * u * i, 3.6 * u); });
      this.barNow.forEach((l, i) => pen.fillText(l, paper.width - u, (5 + 1.3 * i) * u));
    }
    return paper;
  }

  picture() { this.composed().toBlob((blob) => download(blob, `${this.stage.words.title}_${this.stage.frame.meta.time.toFixed(4)}s.png`)); }
}
