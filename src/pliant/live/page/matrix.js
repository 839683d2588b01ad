// Vectors are arrays of three, matrices are Float32Array of sixteen in columns.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scale = (s, a) => [s * a[0], s * a[1], s * a[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const length = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => scale(1 / Math.max(length(a), 1e-300), a);

function times(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++)
    for (let r = 0; r < 4; r++)
      for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
  return out;
}

function perspective(degrees, aspect, near, far) {
  const f = 1 / Math.tan((degrees * Math.PI) / 360);
  const out = new Float32Array(16);
  out[0] = f / aspect; out[5] = f; out[10] = (far + near) / (near - far); out[11] = -1; out[14] = (2 * far * near) / (near - far);
  return out;
}

function lookAt(eye, focus, up) {
  const back = unit(sub(eye, focus)), right = unit(cross(up, back)), above = cross(back, right);
  return new Float32Array([
    right[0], above[0], back[0], 0, right[1], above[1], back[1], 0, right[2], above[2], back[2], 0,
    -dot(right, eye), -dot(above, eye), -dot(back, eye), 1,
  ]);
}

// Shadow of things on a plane (normal n through p) under light that shines along l.
function onto(p, n, l, lift) {
  const d = dot(n, p) + lift, s = dot(n, l), out = new Float32Array(16);
  for (let c = 0; c < 3; c++) for (let r = 0; r < 3; r++) out[4 * c + r] = (r === c ? 1 : 0) - (l[r] * n[c]) / s;
  for (let r = 0; r < 3; r++) out[12 + r] = (l[r] * d) / s;
  out[15] = 1;
  return out;
}
