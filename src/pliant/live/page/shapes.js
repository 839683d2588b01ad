// Geometry that is worked out here: normals, edges, cuts, and what is under the pointer.

function gather(points, map, out) {
  for (let i = 0, j = 0; i < map.length; i++, j += 3) {
    const k = 3 * map[i];
    out[j] = points[k]; out[j + 1] = points[k + 1]; out[j + 2] = points[k + 2];
  }
}

// Sums of the triangles' normals at each point, into `out`; the card makes them unit vectors.
function normalsOf(x, triangles, out) {
  out.fill(0);
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
    const ux = x[b] - x[a], uy = x[b + 1] - x[a + 1], uz = x[b + 2] - x[a + 2];
    const vx = x[c] - x[a], vy = x[c + 1] - x[a + 1], vz = x[c + 2] - x[a + 2];
    const nx = uy * vz - uz * vy, ny = uz * vx - ux * vz, nz = ux * vy - uy * vx;
    out[a] += nx; out[a + 1] += ny; out[a + 2] += nz;
    out[b] += nx; out[b + 1] += ny; out[b + 2] += nz;
    out[c] += nx; out[c + 1] += ny; out[c + 2] += nz;
  }
  let largest = 1e-30;
  for (let i = 0; i < out.length; i++) if (out[i] > largest) largest = out[i]; else if (-out[i] > largest) largest = -out[i];
  for (let i = 0, by = 1 / largest; i < out.length; i++) out[i] *= by; // areas of small bodies are tiny
}

// Pairs of shaded points along every edge, each once.
function edgesOf(triangles, point) {
  const seen = new Set(), out = [], many = point.length ? 1 + point.reduce((a, b) => Math.max(a, b), 0) : 1;
  for (let t = 0; t < triangles.length; t++) {
    const a = triangles[t], b = triangles[t % 3 === 2 ? t - 2 : t + 1], p = point[a], q = point[b];
    const key = Math.min(p, q) * many + Math.max(p, q);
    if (!seen.has(key)) { seen.add(key); out.push(a, b); }
  }
  return new Uint32Array(out);
}

const AROUND = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

// Where a plane cuts tetrahedra that are seen: triangles with values, colours by owner.
function cutOf(points, tets, values, plain, [nx, ny, nz, d], seen) {
  const x = [], v = [], c = [], index = [];
  const side = (i) => nx * points[3 * i] + ny * points[3 * i + 1] + nz * points[3 * i + 2] - d;
  for (let t = 0; t < tets.length; t += 4) {
    const s = [side(tets[t]), side(tets[t + 1]), side(tets[t + 2]), side(tets[t + 3])];
    const above = (s[0] > 0) + (s[1] > 0) + (s[2] > 0) + (s[3] > 0);
    if (above === 0 || above === 4 || !seen(tets[t])) continue;
    const first = x.length / 3;
    for (const [i, j] of AROUND) {
      if (s[i] > 0 === s[j] > 0) continue;
      const a = tets[t + i], b = tets[t + j], f = s[i] / (s[i] - s[j]);
      for (let k = 0; k < 3; k++) x.push(points[3 * a + k] + f * (points[3 * b + k] - points[3 * a + k]));
      const va = values[a], vb = values[b];
      v.push(va < -1e29 ? vb : vb < -1e29 ? va : va + f * (vb - va));
      c.push(plain[4 * a], plain[4 * a + 1], plain[4 * a + 2], plain[4 * a + 3]);
    }
    index.push(first, first + 1, first + 2);
    if (x.length / 3 - first === 4) index.push(first + 1, first + 2, first + 3); // edges 02 03 12 13: opposite corners are 0 and 3
  }
  const positions = new Float32Array(x), normals = new Float32Array(x.length);
  for (let i = 0; i < normals.length; i += 3) { normals[i] = nx; normals[i + 1] = ny; normals[i + 2] = nz; }
  return { positions, normals, values: new Float32Array(v), plain: new Uint8Array(c), index: new Uint32Array(index) };
}

// The first triangle that a ray meets: distance and number; null if none.
function hitOf(from, along, x, triangles) {
  let best = null;
  for (let t = 0; t < triangles.length; t += 3) {
    const a = 3 * triangles[t], b = 3 * triangles[t + 1], c = 3 * triangles[t + 2];
    const o = [x[a], x[a + 1], x[a + 2]];
    const u = [x[b] - o[0], x[b + 1] - o[1], x[b + 2] - o[2]], v = [x[c] - o[0], x[c + 1] - o[1], x[c + 2] - o[2]];
    const p = cross(along, v), det = dot(u, p);
    if (Math.abs(det) < 1e-30) continue;
    const s = sub(from, o), f = dot(s, p) / det;
    if (f < 0 || f > 1) continue;
    const q = cross(s, u), g = dot(along, q) / det;
    if (g < 0 || f + g > 1) continue;
    const far = dot(v, q) / det;
    if (far > 0 && (best === null || far < best.far)) best = { far, triangle: t };
  }
  return best;
}
