// The scene as it stands: a topology, a frame, and what is to be shown of them.

const UNKNOWN = -1e30;
const CONTACT = { sticks: [0.13, 0.35, 0.75], slips: [0.85, 0.2, 0.12], normal: [0.2, 0.55, 0.3], carries: [0.95, 0.7, 0.1], force: [0.78, 0.1, 0.32] };

class Stage {
  constructor(canvas, words) {
    this.canvas = canvas;
    this.painter = new Painter(canvas, words.colours);
    this.options = {
      field: words.field, frameRange: false, points: false, normals: false, forces: false, carrying: false, pairs: false, wire: false, creases: true,
      shadow: true, cut: "off", cutAt: 0.5, follow: "", forceScale: 1,
    };
    this.frame = null; this.topology = null; this.pull = null;
    this.take(words);
    this.camera = new Camera(words.camera, words.size);
    this.look();
  }

  // Bodies, fields and floors; after a change of bodies, again.
  take(words) {
    this.words = words;
    this.words.floors.forEach((floor, i) => (floor.name = `${i} ${floor.half}`));
    const kept = new Map((this.bodies ?? []).map((b) => [b.name, b.shown]));
    this.bodies = words.bodies.map((b) => ({ ...b, shown: kept.get(b.name) ?? (b.glass ? "glass" : "solid") }));
  }

  // Everything in the window; what runs live may go anywhere and gets more room.
  look() { this.camera.see(this.words.camera, (this.canvas.clientWidth || 1) / (this.canvas.clientHeight || 1), this.words.kind === "live" ? 1.35 : 1); }

  get field() { return this.words.fields.find((f) => f.name === this.options.field) ?? null; }

  setTopology(topology) { this.topology = topology; this.soft = null; this.regroup(); }

  // Triangles of solid and of glass bodies; hidden ones are in neither.
  regroup() {
    if (!this.topology) return;
    const { triangles, point, owner } = this.topology.arrays, parts = { solid: [], glass: [] };
    for (let t = 0; t < triangles.length; t += 3) {
      const part = parts[this.bodies[owner[point[triangles[t]]]].shown];
      if (part) part.push(triangles[t], triangles[t + 1], triangles[t + 2]);
    }
    this.parts = { solid: new Uint32Array(parts.solid), glass: new Uint32Array(parts.glass) };
    const edges = edgesOf(triangles, point), kept = [];
    for (let e = 0; e < edges.length; e += 2) if (this.bodies[owner[point[edges[e]]]].shown !== "hidden") kept.push(edges[e], edges[e + 1]);
    this.edges = new Uint32Array(kept);
    this.tetOwner = new Set();
    for (let t = 0; t < this.topology.arrays.tets.length; t += 4) this.tetOwner.add(owner[this.topology.arrays.tets[t]]);
    if (this.frame) this.prepare();
  }

  setFrame(frame) {
    if (this.frame && this.options.follow) {
      const body = this.bodies.findIndex((b) => b.name === this.options.follow), before = this.centre(this.frame, body), now = this.centre(frame, body);
      if (before && now) this.camera.move(sub(now, before));
    }
    this.frame = frame;
    this.prepare();
  }

  centre(frame, body) {
    const { owner, point } = this.topology.arrays, x = frame.arrays.points, sum = [0, 0, 0];
    let count = 0;
    for (let i = 0; i < owner.length && 3 * i < x.length; i++) if (owner[i] === body) { sum[0] += x[3 * i]; sum[1] += x[3 * i + 1]; sum[2] += x[3 * i + 2]; count++; }
    return count && point ? scale(1 / count, sum) : null;
  }

  // Arrays for the card from the arrays of the frame.
  prepare() {
    const { arrays } = this.frame, t = this.topology.arrays, count = arrays.points.length / 3, field = this.field;
    const raw = field ? arrays[`field/${field.name}`] : null, painted = new Set(field ? field.bodies : []);
    const values = new Float32Array(count), words = new Uint32Array(count), plain = new Uint8Array(words.buffer), owner = t.owner;
    const on = this.bodies.map((b) => !!raw && painted.has(b.id) && b.shown === "solid");
    const colours = new Uint32Array(new Uint8Array(this.bodies.flatMap((b, i) => [...(field ? b.quiet : b.colour), on[i] ? 255 : 0])).buffer);
    for (let i = 0; i < count; i++) {
      const body = owner[i], value = on[body] ? raw[i] : UNKNOWN;
      values[i] = value === value ? value : UNKNOWN; // NaN is not equal to itself
      words[i] = colours[body];
    }
    this.values = values; this.plain = plain; this.range = this.rangeOf(values);
    const point = t.point, shade = (array) => {
      const out = new array.constructor(point.length);
      for (let i = 0; i < point.length; i++) out[i] = array[point[i]];
      return out;
    };
    const positions = gathered(arrays.points, t.point);
    this.mesh = { positions, normals: normalsOf(positions, t.triangles), values: shade(values), plain: new Uint8Array(shade(words).buffer), soft: this.softness() };
    this.discs = this.discsOf();
    this.marks = this.marksOf();
  }

  rangeOf(values) {
    if (!this.field) return [0, 1];
    if (!this.options.frameRange) return [this.field.low, this.field.high];
    let low = 0, high = 0;
    for (const v of values) if (v > -1e29) { low = Math.min(low, v); high = Math.max(high, v); }
    return [low, high > low ? high : low + 1];
  }

  softness() {
    const { owner, point } = this.topology.arrays;
    this.soft ??= Float32Array.from(point, (p) => (this.tetOwner.has(owner[p]) ? 1 : 0));
    return this.soft;
  }

  // Four numbers for each disc in three lists, filled up to whole rows of 1024.
  discsOf() {
    const at = this.topology.arrays.surfels, { owner } = this.topology.arrays, arrays = this.frame.arrays, x = arrays.points;
    const room = 4096 * Math.ceil(at.length / 1024), normals = arrays["surfel/normal"], radii = arrays["surfel/radius"];
    const places = new Float32Array(room), shapes = new Float32Array(room), plains = new Uint8Array(room), hidden = this.bodies.map((b) => b.shown === "hidden");
    const from = new Uint32Array(this.plain.buffer), to = new Uint32Array(plains.buffer);
    let count = 0;
    for (let i = 0; i < at.length; i++) {
      const p = at[i], j = 4 * count;
      if (hidden[owner[p]]) continue;
      places[j] = x[3 * p]; places[j + 1] = x[3 * p + 1]; places[j + 2] = x[3 * p + 2]; places[j + 3] = radii[i];
      shapes[j] = normals[3 * i]; shapes[j + 1] = normals[3 * i + 1]; shapes[j + 2] = normals[3 * i + 2]; shapes[j + 3] = this.values[p];
      to[count++] = from[p];
    }
    return { count, places, shapes, plains };
  }

  // Contacts, feature pairs and the pull as dots and sticks.
  marksOf() {
    const a = this.frame.arrays, x = a["contact/point"] ?? [], n = a["contact/normal"] ?? [], f = a["contact/force"] ?? [], out = {};
    const stick = a["contact/sticking"] ?? [], size = this.words.size, sticks = (count, of) => {
      const list = new Float32Array(10 * count);
      for (let i = 0; i < count; i++) list.set(of(i), 10 * i);
      return list;
    };
    const at = (array, i) => [array[3 * i], array[3 * i + 1], array[3 * i + 2]], rows = x.length / 3;
    out.points = Float32Array.from(x);
    out.tints = new Float32Array(3 * rows);
    for (let i = 0; i < rows; i++) out.tints.set(stick[i] > 0.5 ? CONTACT.sticks : CONTACT.slips, 3 * i);
    out.normals = sticks(rows, (i) => [...at(x, i), ...add(at(x, i), scale(0.05 * size, at(n, i))), ...CONTACT.normal, 0]);
    let largest = 1e-30;
    for (let i = 0; i < rows; i++) largest = Math.max(largest, length(at(f, i)));
    this.largestForce = Math.max(largest, 0.999 * (this.largestForce ?? 0));
    const per = (0.2 * size * this.options.forceScale) / this.largestForce;
    out.forces = sticks(rows, (i) => [...at(x, i), ...add(at(x, i), scale(per, at(f, i))), ...CONTACT.force, 1]);
    out.carrying = gathered(a.points, a["contact/carrying"] ?? []);
    out.carryTints = new Float32Array(out.carrying.length);
    for (let i = 0; i < out.carrying.length; i += 3) out.carryTints.set(CONTACT.carries, i);
    const states = Object.values(this.words.colours.states).map((c) => c.map((v) => v / 255));
    const dots = a["mark/dots"] ?? [], lines = a["mark/lines"] ?? [];
    out.pairDots = Float32Array.from(dots);
    out.pairTints = new Float32Array(dots.length);
    for (let i = 0; i < dots.length / 3; i++) out.pairTints.set(states[a["mark/dot_state"][i]], 3 * i);
    out.pairLines = sticks(lines.length / 6, (i) => [...at(lines, 2 * i), ...at(lines, 2 * i + 1), ...states[a["mark/line_state"][i]], 0]);
    return out;
  }

  get cutPlane() {
    const axis = { x: 0, y: 1, z: 2 }[this.options.cut];
    if (axis === undefined) return null;
    const plane = [0, 0, 0, 0], x = this.frame.arrays.points, { owner } = this.topology.arrays;
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < x.length / 3; i++) if (this.tetOwner.has(owner[i])) { low = Math.min(low, x[3 * i + axis]); high = Math.max(high, x[3 * i + axis]); }
    plane[axis] = this.camera.position[axis] > this.camera.focus[axis] ? 1 : -1; // what is nearer to the viewer is taken away
    plane[3] = plane[axis] * (low + this.options.cutAt * (high - low));
    return high >= low ? plane : null;
  }

  draw() {
    const p = this.painter, o = this.options;
    p.begin(this.camera);
    for (const floor of this.words.floors) p.floor(floor);
    if (!this.frame) return;
    const cut = this.cutPlane ?? [0, 0, 0, 1e30], solid = { ...this.mesh, index: this.parts.solid };
    if (o.shadow) for (const floor of this.words.floors.slice(0, 1)) {
      p.shadow(floor, (how) => { p.mesh("mesh", solid, { ...how, cut, part: "solid" }); p.discs(this.discs, how); });
    }
    if (o.wire) p.mesh("mesh", { ...this.mesh, index: this.edges }, { range: this.range, cut, part: "edges", lines: true });
    else p.mesh("mesh", solid, { range: this.range, cut, part: "solid" });
    p.discs(this.discs, { range: this.range });
    if (this.cutPlane) {
      const visible = this.topology.arrays.tets;
      p.mesh("cut", cutOf(this.frame.arrays.points, visible, this.values, this.plain, cut), { range: this.range });
    }
    if (!o.wire) p.blended(() => p.mesh("mesh", { ...this.mesh, index: this.parts.glass }, { range: this.range, opacity: 0.28, cut, part: "glass" }));
    p.marked((opacity) => this.drawMarks(opacity));
    p.drawn++;
  }

  drawMarks(opacity) {
    const p = this.painter, o = this.options, m = this.marks;
    if (o.normals) p.sticks("normals", m.normals, 1.6, opacity);
    if (o.forces) p.sticks("forces", m.forces, 2, opacity);
    if (o.points) p.dots("contacts", m.points, m.tints, 6, opacity);
    if (o.carrying) p.dots("carrying", m.carrying, m.carryTints, 5, opacity);
    if (o.pairs) { p.sticks("pairs", m.pairLines, 2, opacity); p.dots("pair dots", m.pairDots, m.pairTints, 7, opacity); }
    if (this.pull) {
      p.sticks("pull", new Float32Array([...this.pull.from, ...this.pull.to, 0.9, 0.45, 0.05, 1]), 3, opacity);
      p.dots("hand", new Float32Array(this.pull.to), new Float32Array([0.9, 0.45, 0.05]), 9, opacity);
    }
  }

  // The point of a body under the pointer, or null.
  pick(x, y) {
    const aspect = this.canvas.clientWidth / this.canvas.clientHeight, along = this.camera.ray(x, y, aspect), t = this.topology.arrays;
    const hit = hitOf(this.camera.position, along, this.mesh.positions, this.parts.solid);
    const glass = hitOf(this.camera.position, along, this.mesh.positions, this.parts.glass);
    const surfel = this.pickSurfel(along);
    let best = hit && { ...hit, index: this.parts.solid };
    if (!best && glass) best = { ...glass, index: this.parts.glass };
    if (surfel && (!best || surfel.far < best.far)) return { point: surfel.point, at: add(this.camera.position, scale(surfel.far, along)), body: this.bodies[t.owner[surfel.point]] };
    if (!best) return null;
    const at = add(this.camera.position, scale(best.far, along)), corner = [0, 1, 2].map((k) => best.index[best.triangle + k]);
    const away = (c) => length(sub(at, [0, 1, 2].map((k) => this.mesh.positions[3 * c + k])));
    const nearest = corner.reduce((a, b) => (away(b) < away(a) ? b : a)), point = t.point[nearest];
    return { point, at, body: this.bodies[t.owner[point]] };
  }

  pickSurfel(along) {
    const at = this.topology.arrays.surfels, x = this.frame.arrays.points, radii = this.frame.arrays["surfel/radius"];
    let best = null;
    for (let i = 0; i < at.length; i++) {
      const d = sub([x[3 * at[i]], x[3 * at[i] + 1], x[3 * at[i] + 2]], this.camera.position), far = dot(d, along);
      if (far > 0 && length(sub(d, scale(far, along))) < radii[i] && (!best || far < best.far)) best = { far, point: at[i] };
    }
    return best;
  }

  place(point) { const x = this.frame.arrays.points; return [x[3 * point], x[3 * point + 1], x[3 * point + 2]]; }
}
