// A camera that turns around a point, with z up.

const PRESETS = {
  "three-quarter": [-58, 33], front: [-90, 4], back: [90, 4], left: [180, 4], right: [0, 4], above: [-90, 89.5], below: [-90, -89.5],
};

class Camera {
  constructor({ position, focus, angle }, size) {
    this.position = [...position]; this.focus = [...focus]; this.angle = angle; this.size = size;
    this.home = { position: [...position], focus: [...focus] };
    this.turned = false; // by somebody
  }

  // See all of what another camera sees, from where this one looks, in a window of this shape.
  see({ position, focus, aspect: wide }, aspect, room = 1) {
    const direction = this.direction, away = length(sub(position, focus)) * Math.max(1, wide / aspect) * room;
    this.home = { position: add(focus, scale(away, unit(sub(position, focus)))), focus: [...focus] };
    this.focus = [...focus];
    this.stand(...direction, away);
  }

  get distance() { return length(sub(this.position, this.focus)); }

  // azimuth and elevation [degree] that the camera stands at
  get direction() {
    const d = unit(sub(this.position, this.focus));
    return [(Math.atan2(d[1], d[0]) * 180) / Math.PI, (Math.asin(Math.max(-1, Math.min(1, d[2]))) * 180) / Math.PI];
  }

  stand(azimuth, elevation, distance = this.distance) {
    const a = (azimuth * Math.PI) / 180, e = (Math.max(-89.5, Math.min(89.5, elevation)) * Math.PI) / 180;
    this.position = add(this.focus, scale(distance, [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)]));
  }

  orbit(dx, dy) { this.turned = true; const [a, e] = this.direction; this.stand(a - 0.35 * dx, e + 0.35 * dy); }

  pan(dx, dy, height) {
    this.turned = true;
    const { right, up } = this.axes(), per = (2 * this.distance * Math.tan((this.angle * Math.PI) / 360)) / height;
    const shift = add(scale(-dx * per, right), scale(dy * per, up));
    this.move(shift);
  }

  move(shift) { this.position = add(this.position, shift); this.focus = add(this.focus, shift); }

  zoom(factor) {
    this.turned = true;
    const far = Math.min(Math.max(this.distance * factor, 1e-4 * this.size), 100 * this.size);
    this.position = add(this.focus, scale(far, unit(sub(this.position, this.focus))));
  }

  preset(name) {
    this.turned = name !== "three-quarter";
    const away = length(sub(this.home.position, this.home.focus));
    this.focus = [...this.home.focus];
    this.position = [...this.home.position];
    if (name !== "three-quarter") this.stand(...PRESETS[name], away);
  }

  axes() {
    const back = unit(sub(this.position, this.focus)), right = unit(cross([0, 0, 1], back));
    return { back, right, up: cross(back, right) };
  }

  matrix(aspect) {
    const near = Math.max(this.distance * 0.01, 1e-5 * this.size);
    return times(perspective(this.angle, aspect, near, this.distance + 12 * this.size), lookAt(this.position, this.focus, [0, 0, 1]));
  }

  // direction of the ray through a place of the window, -1 to 1 to the right and up
  ray(x, y, aspect) {
    const { back, right, up } = this.axes(), t = Math.tan((this.angle * Math.PI) / 360);
    return unit(add(scale(-1, back), add(scale(x * t * aspect, right), scale(y * t, up))));
  }
}

// The directions x, y and z as they are seen, as lines of a small picture.
function axesOf(camera, picture) {
  const { right, up } = camera.axes();
  ["x", "y", "z"].forEach((name, k) => {
    const x = 30 + 20 * right[k], y = 30 - 20 * up[k], line = picture.querySelector(`#axis-${name}`), words = picture.querySelector(`#axis-name-${name}`);
    line.setAttribute("x2", x.toFixed(1)); line.setAttribute("y2", y.toFixed(1));
    words.setAttribute("x", (30 + 26 * right[k]).toFixed(1)); words.setAttribute("y", (33 - 26 * up[k]).toFixed(1));
  });
}
