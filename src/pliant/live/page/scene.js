// The scene as it stands: a topology, a frame, and what is to be shown of them.

const UNKNOWN = -1e30;
const NOWHERE = [0, 0, 0, 1e30];

// An array of at least this length that is used again and again under a name.
class Room {
  constructor() { this.held = new Map(); }
  of(name, kind, size) {
    let array = this.held.get(name);
    if (!array || array.length !== size || !(array instanceof kind)) this.held.set(name, (array = new kind(size)));
    return array;
  }
}

class Stage {
  constructor(canvas, words) {
    this.canvas = canvas;
    this.painter = new Painter(canvas, words.colours);
    this.options = {
      field: words.field, frameRange: false, points: false, normals: false, forces: false, carrying: false, pairs: false, common: false, tree: false, level: 2,
      wire: false, shadow: true, cut: "off", cutAt: 0.5, follow: "", forceScale: 1,
    };
    this.frame = null; this.topology = null; this.tree = null; this.pull = null; this.room = new Room(); this.turns = 0;
    this.marks = new Marks(this);
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

  // What a frame must hold, as the server is asked for it.
  get wanted() { return `field=${encodeURIComponent(this.options.field)}${this.options.common ? "&common=1" : ""}`; }

  setTopology(topology) { this.topology = topology; this.tree = null; this.edges = null; this.regroup(); }

  // Triangles of solid and of glass bodies; hidden ones are in neither.
  regroup() {
    if (!this.topology) return;
    const { triangles, point, owner, tets } = this.topology.arrays, place = this.bodies.map((b) => ["solid", "glass"].indexOf(b.shown)), count = [0, 0];
    const part = new Int8Array(triangles.length / 3);
    for (let t = 0; t < part.length; t++) { part[t] = place[owner[point[triangles[3 * t]]]]; if (part[t] >= 0) count[part[t]] += 3; }
    const lists = count.map((n) => new Uint32Array(n)), used = [0, 0];
    for (let t = 0; t < part.length; t++) if (part[t] >= 0) for (let k = 0; k < 3; k++) lists[part[t]][used[part[t]]++] = triangles[3 * t + k];
    this.parts = { solid: lists[0], glass: lists[1] };
    this.edges = null;
    this.tetOwner = new Set();
    for (let t = 0; t < tets.length; t += 4) this.tetOwner.add(owner[tets[t]]);
    this.soft = Uint8Array.from(point, (p) => (this.tetOwner.has(owner[p]) ? 255 : 0));
    if (this.frame) this.prepare();
  }

  // Edges of bodies that are not hidden, worked out when they are first wanted.
  shownEdges() {
    if (this.edges) return this.edges;
    const { triangles, point, owner } = this.topology.arrays, all = (this.topology.edges ??= edgesOf(triangles, point));
    return (this.edges = all.filter((v) => this.bodies[owner[point[v]]].shown !== "hidden"));
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

  // Arrays for the card from the arrays of the frame; they are used again, frame after frame.
  prepare() {
    const { arrays } = this.frame, { point, triangles, owner } = this.topology.arrays, count = arrays.points.length / 3, field = this.field, room = this.room;
    const raw = field ? arrays[`field/${field.name}`] : null, painted = new Set(field ? field.bodies : []);
    const values = room.of("values", Float32Array, count), words = room.of("words", Uint32Array, count);
    const on = this.bodies.map((b) => !!raw && painted.has(b.id) && b.shown === "solid");
    const colours = new Uint32Array(new Uint8Array(this.bodies.flatMap((b, i) => [...(field ? b.quiet : b.colour), on[i] ? 255 : 0])).buffer);
    let low = 0, high = -Infinity, most = -Infinity, where = -1; // `most`: also of bodies that are glass or hidden
    for (let i = 0; i < count; i++) {
      const body = owner[i], value = on[body] ? raw[i] : UNKNOWN;
      if (raw && raw[i] > most) { most = raw[i]; where = body; }
      if (value > UNKNOWN) { values[i] = value; if (value > high) high = value; if (value < low) low = value; } else values[i] = UNKNOWN; // also NaN
      words[i] = colours[body];
    }
    this.values = values; this.plain = new Uint8Array(words.buffer); this.largest = where >= 0 ? { value: most, body: this.bodies[where] } : null; this.turns++;
    this.range = !field ? [0, 1] : this.options.frameRange ? [low, high > low ? high : low + 1] : [field.low, field.high];
    const positions = room.of("x", Float32Array, 3 * point.length), shaded = room.of("v", Float32Array, point.length), tints = room.of("c", Uint32Array, point.length);
    gather(arrays.points, point, positions);
    for (let i = 0; i < point.length; i++) { shaded[i] = values[point[i]]; tints[i] = words[point[i]]; }
    const normals = room.of("n", Float32Array, positions.length);
    normalsOf(positions, triangles, normals);
    this.mesh = { positions, normals, values: shaded, plain: new Uint8Array(tints.buffer), soft: this.soft };
    this.discs = this.discsOf(words);
    this.slice = null;
  }

  // Four numbers for each disc in two lists, and a colour, filled up to whole rows of 1024.
  discsOf(words) {
    const { surfels: at, owner } = this.topology.arrays, arrays = this.frame.arrays, x = arrays.points, normals = arrays["surfel/normal"], radii = arrays["surfel/radius"];
    const size = 1024 * Math.ceil(at.length / 1024), hidden = this.bodies.map((b) => b.shown === "hidden"), values = this.values;
    const places = this.room.of("places", Float32Array, 4 * size), shapes = this.room.of("shapes", Float32Array, 4 * size), tints = this.room.of("plains", Uint32Array, size);
    let count = 0;
    for (let i = 0; i < at.length; i++) {
      const p = at[i], j = 4 * count;
      if (hidden[owner[p]]) continue;
      places[j] = x[3 * p]; places[j + 1] = x[3 * p + 1]; places[j + 2] = x[3 * p + 2]; places[j + 3] = radii[i];
      if (normals) { shapes[j] = normals[3 * i]; shapes[j + 1] = normals[3 * i + 1]; shapes[j + 2] = normals[3 * i + 2]; } else shapes[j] = shapes[j + 1] = shapes[j + 2] = 0;
      shapes[j + 3] = values[p]; tints[count++] = words[p];
    }
    return { count, places, shapes, plains: new Uint8Array(tints.buffer) };
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

  // Where the plane cuts soft bodies, made anew when either has changed.
  sliced(plane) {
    const key = plane.join();
    if (this.slice?.key !== key) {
      const { tets, owner } = this.topology.arrays, shown = this.bodies.map((b) => b.shown !== "hidden");
      this.slice = { key, mesh: cutOf(this.frame.arrays.points, tets, this.values, this.plain, plane, (p) => shown[owner[p]]) };
    }
    return this.slice.mesh;
  }

  draw(fine = false) {
    const p = this.painter, o = this.options, turn = this.turns;
    p.begin(this.camera, fine);
    const floors = this.words.floors.filter((f) => this.bodies.find((b) => b.id === f.body)?.shown !== "hidden");
    for (const floor of floors) p.floor(floor);
    if (!this.frame) return;
    const plane = this.cutPlane, cut = plane ?? NOWHERE, range = this.range, solid = { ...this.mesh, index: this.parts.solid, turn };
    if (o.shadow) for (const floor of floors.slice(0, 1)) {
      p.shadow(floor, (how) => { p.mesh("mesh", solid, { ...how, cut, part: "solid" }); p.discs(this.discs, turn, how); });
    }
    if (o.wire) p.mesh("mesh", { ...solid, index: this.shownEdges() }, { range, cut, part: "edges", lines: true });
    else p.mesh("mesh", solid, { range, cut, part: "solid" });
    p.discs(this.discs, turn, { range });
    if (plane) p.mesh("cut", this.sliced(plane), { range, unlit: true }); // its colours are to be read
    if (!o.wire) p.blended(() => p.mesh("mesh", { ...solid, index: this.parts.glass }, { range, opacity: 0.28, cut, part: "glass" }));
    this.marks.draw(p);
    p.drawn++;
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
