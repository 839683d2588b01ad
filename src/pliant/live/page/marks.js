// What is drawn over bodies: contacts, feature pairs, what bodies have in common, boxes and spheres of the trees, and the pull of a hand.

const CONTACT = { sticks: [0.13, 0.35, 0.75], slips: [0.85, 0.2, 0.12], normal: [0.2, 0.55, 0.3], carries: [0.95, 0.7, 0.1], force: [0.78, 0.1, 0.32] };
const COMMON = [0.86, 0.08, 0.5], HAND = [0.9, 0.45, 0.05], TREE = [0.16, 0.2, 0.3];
const MOST_NODES = 6000, ROUNDS = 16, CIRCLE = 24;
const BOX = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

const at3 = (array, i) => [array[3 * i], array[3 * i + 1], array[3 * i + 2]];

function sticksOf(count, of) {
  const list = new Float32Array(10 * count);
  for (let i = 0; i < count; i++) list.set(of(i), 10 * i);
  return list;
}

function tinted(count, of) {
  const list = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) list.set(of(i), 3 * i);
  return list;
}

class Marks {
  constructor(stage) { this.stage = stage; this.made = new Map(); this.largestForce = 0; }

  // Worked out once for each frame, and only what is shown.
  get(name, key, make) {
    const full = `${this.stage.turns} ${key}`, held = this.made.get(name);
    if (held?.full === full) return held.value;
    const value = make(this.stage.frame.arrays);
    this.made.set(name, { full, value });
    return value;
  }

  draw(p) {
    const { options: o, pull, frame } = this.stage;
    if (o.common && frame.arrays["common/corners"]?.length) this.drawCommon(p);
    p.marked((opacity) => {
      if (o.tree && this.stage.tree) p.sticks("tree", this.nodes(), 1.3, 0.6 * opacity);
      if (o.normals) p.sticks("normals", this.normals(), 1.6, opacity);
      if (o.forces) p.sticks("forces", this.forces(), 2, opacity);
      if (o.points) { const m = this.contacts(); p.dots("contacts", m.x, m.tints, 6, opacity); }
      if (o.carrying) { const m = this.carrying(); p.dots("carrying", m.x, m.tints, 5, opacity); }
      if (o.pairs) { const m = this.pairs(); p.sticks("pairs", m.lines, 2, opacity); p.dots("pair dots", m.dots, m.tints, 7, opacity); }
      if (pull) {
        p.sticks("pull", new Float32Array([...pull.from, ...pull.to, ...HAND, 1]), 3, opacity);
        p.dots("hand", new Float32Array(pull.to), new Float32Array(HAND), 9, opacity);
      }
    });
  }

  contacts() {
    return this.get("contacts", "", (a) => {
      const x = a["contact/point"] ?? new Float32Array(0), stick = a["contact/sticking"];
      return { x, tints: tinted(x.length / 3, (i) => (stick[i] > 0.5 ? CONTACT.sticks : CONTACT.slips)) };
    });
  }

  normals() {
    return this.get("normals", "", (a) => {
      const x = a["contact/point"] ?? [], n = a["contact/normal"], far = 0.05 * this.stage.words.size;
      return sticksOf(x.length / 3, (i) => [...at3(x, i), ...add(at3(x, i), scale(far, at3(n, i))), ...CONTACT.normal, 0]);
    });
  }

  // The longest arrow is as long for all frames; a new record makes all others shorter.
  forces() {
    return this.get("forces", this.stage.options.forceScale, (a) => {
      const x = a["contact/point"] ?? [], f = a["contact/force"], rows = x.length / 3;
      this.longest = 0;
      for (let i = 0; i < rows; i++) this.longest = Math.max(this.longest, length(at3(f, i)));
      this.largestForce = Math.max(this.longest, 0.999 * this.largestForce, 1e-30);
      const per = (0.2 * this.stage.words.size * this.stage.options.forceScale) / this.largestForce;
      return sticksOf(rows, (i) => [...at3(x, i), ...add(at3(x, i), scale(per, at3(f, i))), ...CONTACT.force, 1]);
    });
  }

  carrying() {
    return this.get("carrying", "", (a) => {
      const map = a["contact/carrying"] ?? new Uint32Array(0), x = new Float32Array(3 * map.length);
      gather(a.points, map, x);
      return { x, tints: tinted(map.length, () => CONTACT.carries) };
    });
  }

  pairs() {
    return this.get("pairs", "", (a) => {
      const states = Object.values(this.stage.words.colours.states).map((c) => c.map((v) => v / 255));
      const dots = a["mark/dots"] ?? new Float32Array(0), lines = a["mark/lines"] ?? [], of = a["mark/line_state"], dotOf = a["mark/dot_state"];
      return {
        dots, tints: tinted(dots.length / 3, (i) => states[dotOf[i]]),
        lines: sticksOf(lines.length / 6, (i) => [...at3(lines, 2 * i), ...at3(lines, 2 * i + 1), ...states[of[i]], 0]),
      };
    });
  }

  // Triangles of skins inside other bodies, seen through everything else.
  drawCommon(p) {
    const mesh = this.get("common", "", (a) => {
      const positions = a["common/corners"], count = positions.length / 3, index = Uint32Array.from({ length: count }, (_, i) => i), normals = new Float32Array(positions.length);
      normalsOf(positions, index, normals);
      const plain = new Uint8Array(4 * count);
      for (let i = 0; i < count; i++) plain.set([...COMMON.map((v) => 255 * v), 0], 4 * i);
      return { positions, normals, values: new Float32Array(count).fill(UNKNOWN), plain, index };
    });
    p.marked((opacity) => p.mesh("common", { ...mesh, turn: this.stage.turns }, { opacity: opacity === 1 ? 0.5 : 0.45 }));
  }

  // Boxes and spheres of the chosen level, and leaves above it.
  nodes() {
    return this.get("tree", `${this.stage.options.level} ${this.stage.bodies.map((b) => b.shown[0]).join("")}`, (a) => {
      const t = this.stage.tree.arrays, chosen = [], level = this.stage.options.level;
      for (let i = 0; i < t["tree/begin"].length && chosen.length < MOST_NODES; i++) {
        const depth = t["tree/depth"][i], seen = this.stage.bodies[t["tree/body"][i]].shown !== "hidden";
        if (seen && (depth === level || (depth < level && t["tree/leaf"][i]))) chosen.push(i);
      }
      this.nodeCount = chosen.length;
      const out = chosen.map((i) => {
        const held = t["tree/points"].subarray(t["tree/begin"][i], t["tree/end"][i]);
        return t["tree/round"][i] ? sphereSticks(...ballAround(a.points, held)) : boxSticks(...boxAround(a.points, held));
      });
      const list = new Float32Array(out.reduce((sum, part) => sum + part.length, 0));
      out.reduce((place, part) => { list.set(part, place); return place + part.length; }, 0);
      return list;
    });
  }

  get deepest() { return this.stage.tree ? this.stage.tree.arrays["tree/depth"].reduce((a, b) => Math.max(a, b), 0) : 8; }
}

function boxAround(x, held) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (const p of held) for (let k = 0; k < 3; k++) { const v = x[3 * p + k]; if (v < low[k]) low[k] = v; if (v > high[k]) high[k] = v; }
  return [low, high];
}

// The centre moves towards the farthest point, 1/2, 1/3, ... of the way [Badoiu, Clarkson 2003].
function ballAround(x, held) {
  const [low, high] = boxAround(x, held);
  let c = scale(0.5, add(low, high)), far = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    let most = -1, which = c;
    for (const p of held) { const d = Math.hypot(x[3 * p] - c[0], x[3 * p + 1] - c[1], x[3 * p + 2] - c[2]); if (d > most) { most = d; which = at3(x, p); } }
    far = most;
    if (round < ROUNDS) c = add(c, scale(1 / (round + 2), sub(which, c)));
  }
  return [c, far];
}

function boxSticks(low, high) {
  const corner = (k) => [k & 1 ? high[0] : low[0], k & 2 ? high[1] : low[1], k & 4 ? high[2] : low[2]];
  return sticksOf(12, (e) => [...corner(BOX[e][0]), ...corner(BOX[e][1]), ...TREE, 0]);
}

function sphereSticks(centre, radius) {
  const on = (axis, k) => { const a = (2 * Math.PI * k) / CIRCLE, out = [...centre]; out[(axis + 1) % 3] += radius * Math.cos(a); out[(axis + 2) % 3] += radius * Math.sin(a); return out; };
  return sticksOf(3 * CIRCLE, (i) => [...on(Math.floor(i / CIRCLE), i % CIRCLE), ...on(Math.floor(i / CIRCLE), (i % CIRCLE) + 1), ...TREE, 0]);
}
