// What the graphics card runs.

const COLOUR = `
uniform vec3 ramp[6]; uniform vec2 range; uniform vec3 eye, sun; uniform float opacity, flatShade;
vec3 ramped(float f) {
  float x = clamp(f, 0.0, 1.0) * 5.0; int i = min(int(x), 4);
  return mix(ramp[i], ramp[i + 1], x - float(i));
}
vec3 lit(vec3 base, vec3 normal, vec3 at) {
  vec3 view = normalize(eye - at);
  vec3 n = dot(normal, view) < 0.0 ? -normal : normal;
  float sunny = max(dot(n, -sun), 0.0), facing = max(dot(n, view), 0.0);
  vec3 halfway = normalize(view - sun);
  return base * (0.5 + 0.35 * sunny + 0.29 * facing) + 0.1 * pow(max(dot(n, halfway), 0.0), 16.0);
}
vec3 painted(float value, vec4 plain) {
  bool known = plain.a > 0.5 && value > -1e29;
  return known ? ramped((value - range.x) / max(range.y - range.x, 1e-30)) : plain.rgb;
}`;

const SHADERS = {
  mesh: [`#version 300 es
layout(location = 0) in vec3 position; layout(location = 1) in vec3 normal; layout(location = 2) in float value; layout(location = 3) in vec4 plain;
layout(location = 4) in float soft; uniform mat4 project; out vec3 at, n; out float v, s; flat out vec4 p;
void main() { at = position; n = normal; v = value; p = plain; s = soft; gl_Position = project * vec4(position, 1.0); }`,
  `#version 300 es
precision highp float; in vec3 at, n; in float v, s; flat in vec4 p; uniform vec4 cut; uniform float unlit; out vec4 colour; ${COLOUR}
void main() {
  if (s > 0.5 && dot(cut.xyz, at) > cut.w) discard;
  if (flatShade > 0.5) { colour = vec4(0.1, 0.12, 0.16, opacity); return; }
  if (unlit > 0.5) { colour = vec4(painted(v, p), opacity); return; }
  vec3 normal = dot(n, n) > 1e-12 ? normalize(n) : vec3(0.0, 0.0, 1.0);
  colour = vec4(lit(painted(v, p), normal, at), opacity);
}`],
  disc: [`#version 300 es
uniform highp sampler2D places, shapes; uniform sampler2D plains; // a triangle around each, its data in textures: instances are slow
uniform mat4 project; uniform vec3 eye; out vec3 at, n; out float v; out vec2 c; flat out vec4 p;
void main() {
  int disc = gl_VertexID / 3, corner = gl_VertexID - 3 * disc;
  ivec2 cell = ivec2(disc & 1023, disc >> 10); vec4 place = texelFetch(places, cell, 0), shape = texelFetch(shapes, cell, 0);
  vec3 centre = place.xyz, normal = shape.xyz; float radius = place.w, value = shape.w; vec4 plain = texelFetch(plains, cell, 0);
  vec3 z = dot(normal, normal) > 1e-12 ? normalize(normal) : normalize(eye - centre);
  vec3 x = normalize(cross(abs(z.z) < 0.9 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0), z));
  c = corner == 0 ? vec2(0.0, 2.0) : vec2(corner == 1 ? -1.7320508 : 1.7320508, -1.0);
  at = centre + radius * (c.x * x + c.y * cross(z, x)); n = z; v = value; p = plain;
  gl_Position = project * vec4(at, 1.0);
}`, `#version 300 es
precision highp float; in vec3 at, n; in float v; in vec2 c; flat in vec4 p; out vec4 colour; ${COLOUR}
void main() {
  if (dot(c, c) > 1.0) discard;
  if (flatShade > 0.5) { colour = vec4(0.1, 0.12, 0.16, opacity); return; }
  colour = vec4(lit(painted(v, p), n, at), opacity);
}`],
  stick: [`#version 300 es
layout(location = 0) in vec3 a; layout(location = 1) in vec3 b; layout(location = 2) in vec3 tint; layout(location = 3) in float arrow;
uniform mat4 project; uniform vec2 window; uniform float width; out vec3 t;
void main() {
  vec4 p = project * vec4(a, 1.0), q = project * vec4(b, 1.0);
  vec2 along = (q.xy / q.w - p.xy / p.w) * window; float len = max(length(along), 1e-6); along /= len;
  vec2 side = vec2(-along.y, along.x); float head = arrow > 0.5 ? min(5.0 * width, 0.6 * len) : 0.0;
  vec4 base; vec2 offset;
  if (gl_VertexID < 6) {
    bool far = gl_VertexID == 1 || gl_VertexID == 2 || gl_VertexID == 4; float s = gl_VertexID == 2 || gl_VertexID > 3 ? 1.0 : -1.0;
    base = far ? q : p; offset = 0.5 * width * s * side - (far ? head * along : vec2(0.0));
  } else {
    base = q; int k = gl_VertexID - 6; offset = k == 0 ? vec2(0.0) : -head * along + 0.38 * head * (k == 1 ? 1.0 : -1.0) * side;
  }
  t = tint; gl_Position = base; gl_Position.xy += 2.0 * offset / window * base.w; gl_Position.z -= 0.0004 * base.w;
}`, `#version 300 es
precision highp float; in vec3 t; uniform float opacity; out vec4 colour; void main() { colour = vec4(t, opacity); }`],
  dot: [`#version 300 es
layout(location = 0) in vec3 position; layout(location = 1) in vec3 tint; uniform mat4 project; uniform float width; out vec3 t;
void main() { t = tint; gl_Position = project * vec4(position, 1.0); gl_Position.z -= 0.0004 * gl_Position.w; gl_PointSize = width; }`,
  `#version 300 es
precision highp float; in vec3 t; uniform float opacity; out vec4 colour;
void main() { vec2 c = gl_PointCoord * 2.0 - 1.0; float r = dot(c, c); if (r > 1.0) discard; colour = vec4(r > 0.6 ? 0.55 * t : t, opacity); }`],
  floor: [`#version 300 es
layout(location = 0) in vec3 position; layout(location = 1) in vec2 place; uniform mat4 project; out vec2 uv;
void main() { uv = place; gl_Position = project * vec4(position, 1.0); }`, `#version 300 es
precision highp float; in vec2 uv; uniform vec2 centre; uniform float half_, tile; uniform vec3 light, dark, behind; out vec4 colour;
void main() {
  vec2 k = floor(uv / tile); vec3 base = mod(k.x + k.y, 2.0) < 0.5 ? light : dark;
  float r = length((uv - centre) / half_), fade = 1.0 - smoothstep(0.45, 0.98, r);
  colour = vec4(mix(behind, base, fade), 1.0);
}`],
};
