// Light, dark and print; colour maps; and how much room there is.

const THEMES = { light: null, dark: { background: [24, 27, 33], tiles: [[44, 49, 58], [35, 39, 47]] }, print: { background: [255, 255, 255], tiles: [[255, 255, 255], [243, 243, 243]] } };

// Besides the one of the run: maps whose brightness grows all the way, which can be told apart with any eyes and in grey.
const MAPS = {
  viridis: [[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [122, 209, 81], [253, 231, 37]],
  cividis: [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102], [254, 232, 56]],
  grey: [[45, 45, 45], [85, 85, 85], [125, 125, 125], [165, 165, 165], [205, 205, 205], [240, 240, 240]],
};

const NARROW = 704; // pixels: below, the panel is a drawer

// A colour of the theme, for what is drawn on canvases.
const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

class Looks {
  constructor(app) {
    this.app = app; this.given = app.stage.words.colours; this.map = "pliant";
    const asked = new URLSearchParams(location.search).get("theme") ?? window.PLIANT_THEME;
    this.theme = asked in THEMES ? asked : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    this.root = document.documentElement;
    this.root.classList.toggle("beside", BESIDE !== null); this.root.classList.toggle("follows", BESIDE > 0);
    document.getElementById("menu").addEventListener("click", () => this.root.classList.toggle("open"));
    addEventListener("resize", () => this.fit());
    this.fit(); this.apply();
  }

  fit() { this.root.classList.toggle("compact", BESIDE !== null || innerWidth < NARROW); }

  use(what, value) { this[what] = value; this.apply(); this.app.panel.barKey = null; this.app.redraw(); this.app.plots.forEach((p) => p.draw()); }

  apply() {
    this.root.dataset.theme = this.theme;
    const words = this.app.stage.words, changed = THEMES[this.theme] ?? {};
    words.colours = { ...this.given, ...changed, ramp: MAPS[this.map] ?? this.given.ramp };
    this.app.stage.painter.colour(words.colours);
  }
}
