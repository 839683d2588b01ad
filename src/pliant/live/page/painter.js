// Draws a picture: meshes, discs, sticks, dots and floors. Knows nothing of time or of panels.

// Without a graphics card smooth edges cost half of the frames.
function drawnBySoftware() {
  const gl = document.createElement("canvas").getContext("webgl2"), told = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = told ? String(gl.getParameter(told.UNMASKED_RENDERER_WEBGL)) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}

class Painter {
  constructor(canvas, colours) {
    this.soft = drawnBySoftware();
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: !this.soft, stencil: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This browser cannot draw: it has no WebGL 2.");
    this.gl = gl; this.canvas = canvas;
    this.colour(colours);
    this.programs = Object.fromEntries(Object.entries(SHADERS).map(([name, [v, f]]) => [name, this.program(v, f)]));
    this.buffers = new Map();
    this.drawn = 0;
  }

  // Colours of fields, of what is behind everything, and of floors.
  colour({ ramp, background, tiles }) {
    const bytes = (c) => c.map((x) => x / 255);
    this.ramp = new Float32Array(ramp.flat().map((x) => x / 255)); this.background = bytes(background); this.tiles = tiles.map(bytes);
  }

  program(vertex, fragment) {
    const gl = this.gl, p = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const s = gl.createShader(kind);
      gl.shaderSource(s, text); gl.compileShader(s);
      if (!gl.getShaderParameter(s, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(s));
      gl.attachShader(p, s);
    }
    gl.linkProgram(p);
    if (!gl.getProgramParameter(p, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(p));
    const at = {};
    for (let i = 0; i < gl.getProgramParameter(p, gl.ACTIVE_UNIFORMS); i++) {
      const name = gl.getActiveUniform(p, i).name.replace("[0]", "");
      at[name] = gl.getUniformLocation(p, name);
    }
    return { p, at };
  }

  // A buffer of this name on the card; sent again only when the array is another one, or the same at another turn.
  buffer(name, array, target = this.gl.ARRAY_BUFFER, turn = 0) {
    const gl = this.gl;
    let held = this.buffers.get(name);
    if (!held) this.buffers.set(name, (held = { id: gl.createBuffer(), array: null, size: -1, turn: 0 }));
    gl.bindBuffer(target, held.id);
    if (held.array !== array || held.turn !== turn) {
      if (held.size === array.byteLength) gl.bufferSubData(target, 0, array);
      else gl.bufferData(target, array, gl.DYNAMIC_DRAW);
      held.array = array; held.size = array.byteLength; held.turn = turn;
    }
  }

  attribute(place, name, array, width, each = 0, stride = 0, offset = 0, turn = 0) {
    const gl = this.gl;
    this.buffer(name, array, gl.ARRAY_BUFFER, turn);
    gl.enableVertexAttribArray(place);
    const bytes = array instanceof Uint8Array;
    gl.vertexAttribPointer(place, width, bytes ? gl.UNSIGNED_BYTE : gl.FLOAT, bytes, stride, offset);
    gl.vertexAttribDivisor(place, each);
  }

  constant(place) { this.gl.disableVertexAttribArray(place); this.gl.vertexAttrib4f(place, 0, 0, 0, 1); }

  // `fine`: without a graphics card, twice as many pixels each way instead of smooth edges; for what stands still.
  begin(camera, fine = false) {
    const gl = this.gl, ratio = fine && this.soft ? 2 : Math.min(window.devicePixelRatio || 1, 2);
    const w = Math.max(1, Math.round(this.canvas.clientWidth * ratio)), h = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width !== w || this.canvas.height !== h) { this.canvas.width = w; this.canvas.height = h; }
    this.window = [w, h]; this.ratio = ratio; this.eye = camera.position; this.project = camera.matrix(w / h);
    const { back } = camera.axes(), a = Math.atan2(-back[1], -back[0]) - 0.73;
    this.sun = [0.42 * Math.cos(a), 0.42 * Math.sin(a), -0.91];
    gl.viewport(0, 0, w, h);
    gl.clearColor(...this.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND); gl.disable(gl.CULL_FACE); gl.depthMask(true);
  }

  use(name, { project = this.project, opacity = 1, range = [0, 1], flat = false, unlit = false, cut = [0, 0, 0, 1e30], width = 1 } = {}) {
    const gl = this.gl, { p, at } = this.programs[name];
    gl.useProgram(p);
    for (let i = 0; i < 6; i++) gl.disableVertexAttribArray(i);
    gl.uniformMatrix4fv(at.project, false, project);
    if (at.opacity) gl.uniform1f(at.opacity, opacity);
    if (at.width) gl.uniform1f(at.width, width * this.ratio);
    if (at.window) gl.uniform2fv(at.window, this.window);
    if (at.eye) gl.uniform3fv(at.eye, this.eye);
    if (at.sun) gl.uniform3fv(at.sun, this.sun);
    if (at.ramp) gl.uniform3fv(at.ramp, this.ramp);
    if (at.range) gl.uniform2fv(at.range, range);
    if (at.flatShade) gl.uniform1f(at.flatShade, flat ? 1 : 0);
    if (at.unlit) gl.uniform1f(at.unlit, unlit ? 1 : 0);
    if (at.cut) gl.uniform4fv(at.cut, cut);
    return at;
  }

  blended(draw) {
    const gl = this.gl;
    gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthMask(false);
    draw();
    gl.disable(gl.BLEND); gl.depthMask(true);
  }

  mesh(name, { positions, normals, values, plain, soft, index, turn = 0 }, options) {
    const gl = this.gl;
    if (!index.length) return;
    this.use("mesh", options);
    this.attribute(0, `${name} x`, positions, 3, 0, 0, 0, turn); this.attribute(1, `${name} n`, normals, 3, 0, 0, 0, turn);
    this.attribute(2, `${name} v`, values, 1, 0, 0, 0, turn); this.attribute(3, `${name} c`, plain, 4, 0, 0, 0, turn);
    if (soft) this.attribute(4, `${name} s`, soft, 1); else this.constant(4);
    this.buffer(`${name} i ${options.part ?? ""}`, index, gl.ELEMENT_ARRAY_BUFFER);
    gl.drawElements(options.lines ? gl.LINES : gl.TRIANGLES, index.length, gl.UNSIGNED_INT, 0);
  }

  // Data of discs: a texture of this name, 1024 wide; sent again only when the array is another one, or the same at another turn.
  texture(unit, name, array, turn) {
    const gl = this.gl, bytes = array instanceof Uint8Array;
    let held = this.buffers.get(name);
    if (!held) this.buffers.set(name, (held = { id: gl.createTexture(), array: null, turn: 0, rows: 0 }));
    gl.activeTexture(gl.TEXTURE0 + unit); gl.bindTexture(gl.TEXTURE_2D, held.id);
    if (held.array === array && held.turn === turn) return;
    const rows = array.length / 4096, [inside, kind] = bytes ? [gl.RGBA8, gl.UNSIGNED_BYTE] : [gl.RGBA32F, gl.FLOAT];
    held.array = array; held.turn = turn;
    if (held.rows === rows) return gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, 1024, rows, gl.RGBA, kind, array);
    held.rows = rows;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST); gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, inside, 1024, rows, 0, gl.RGBA, kind, array);
  }

  discs({ count, places, shapes, plains }, turn, options) {
    const gl = this.gl;
    if (!count) return;
    const at = this.use("disc", options);
    for (const [unit, name, array] of [[0, "places", places], [1, "shapes", shapes], [2, "plains", plains]]) {
      this.texture(unit, name, array, turn); gl.uniform1i(at[name], unit);
    }
    gl.drawArrays(gl.TRIANGLES, 0, 3 * count);
  }

  // ten numbers each: ends, colour, whether it has a head
  sticks(name, sticks, width, opacity = 1) {
    const gl = this.gl;
    if (!sticks.length) return;
    this.use("stick", { width, opacity });
    this.attribute(0, name, sticks, 3, 1, 40, 0); this.attribute(1, name, sticks, 3, 1, 40, 12);
    this.attribute(2, name, sticks, 3, 1, 40, 24); this.attribute(3, name, sticks, 1, 1, 40, 36);
    gl.drawArraysInstanced(gl.TRIANGLES, 0, 9, sticks.length / 10);
    for (let i = 0; i < 4; i++) gl.vertexAttribDivisor(i, 0);
  }

  dots(name, positions, tints, width, opacity = 1) {
    if (!positions.length) return;
    this.use("dot", { width, opacity });
    this.attribute(0, `${name} x`, positions, 3); this.attribute(1, `${name} c`, tints, 3);
    this.gl.drawArrays(this.gl.POINTS, 0, positions.length / 3);
  }

  // What lies inside bodies is seen faintly through them.
  marked(draw) {
    const gl = this.gl;
    this.blended(() => { gl.disable(gl.DEPTH_TEST); draw(0.45); gl.enable(gl.DEPTH_TEST); draw(1); });
  }

  floor(floor) {
    const gl = this.gl, [u, v, n] = floor.axes, flat = [], place = [];
    if (dot(n, sub(this.eye, floor.point)) < 0) return; // from below it would hide everything
    for (const [a, b] of [[-1, -1], [1, -1], [-1, 1], [1, 1]]) {
      const x = floor.centre[0] + a * floor.half, y = floor.centre[1] + b * floor.half;
      flat.push(...add(floor.point, add(scale(x, u), scale(y, v)))); place.push(x, y);
    }
    floor.x ??= new Float32Array(flat); floor.uv ??= new Float32Array(place);
    const at = this.use("floor");
    gl.uniform2fv(at.centre, floor.centre); gl.uniform1f(at.half_, floor.half); gl.uniform1f(at.tile, floor.tile);
    gl.uniform3fv(at.light, this.tiles[0]); gl.uniform3fv(at.dark, this.tiles[1]); gl.uniform3fv(at.behind, this.background);
    this.attribute(0, `floor ${floor.name}`, floor.x, 3); this.attribute(1, `floor uv ${floor.name}`, floor.uv, 2);
    gl.depthMask(false); gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4); gl.depthMask(true);
  }

  // Everything `draw` draws, flattened onto the floor, once for each pixel.
  shadow(floor, draw) {
    const gl = this.gl, n = floor.axes[2];
    if (dot(n, this.sun) > -0.2 || dot(n, sub(this.eye, floor.point)) < 0) return;
    gl.enable(gl.STENCIL_TEST); gl.stencilFunc(gl.EQUAL, 0, 0xff); gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR); gl.disable(gl.DEPTH_TEST);
    this.blended(() => draw({ project: times(this.project, onto(floor.point, n, this.sun, 0)), flat: true, opacity: 0.17 }));
    gl.disable(gl.STENCIL_TEST); gl.enable(gl.DEPTH_TEST); gl.clear(gl.STENCIL_BUFFER_BIT);
  }
}
