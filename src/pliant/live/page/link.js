// Runs beside each other: what one page shows of time and camera, the others show too. The page around them passes it on.

const BESIDE = ((asked) => (asked === null || asked === undefined ? null : Number(asked)))(new URLSearchParams(location.search).get("beside") ?? window.PLIANT_BESIDE);

class Link {
  constructor(app) {
    this.app = app; this.told = ""; this.given = "";
    if (BESIDE === null) return;
    addEventListener("message", (e) => { if (e.source === parent && e.data?.pliant) this.take(e.data.pliant); });
    parent.postMessage({ pliant: { ready: BESIDE } }, "*");
  }

  // After anything was drawn: say where we are, if that is new and was not told to us.
  tell() {
    if (BESIDE === null || !this.app.player) return;
    const { position, focus, turned } = this.app.stage.camera, now = { position, focus, ...(BESIDE === 0 ? { time: this.app.player.times[this.app.player.at] } : {}) };
    const text = JSON.stringify(now);
    if (text === this.told) return;
    this.told = text;
    parent.postMessage({ pliant: { ...now, from: BESIDE, turned: turned && JSON.stringify([position, focus]) !== this.given } }, "*");
  }

  // What another shows; where nobody has turned a camera yet, we say first where ours stands.
  take({ position, focus, time, turned }) {
    const { stage, player } = this.app, first = this.told === "" && !turned;
    if (position && !first) { this.given = JSON.stringify([position, focus]); stage.camera.turned = true; stage.camera.position = [...position]; stage.camera.focus = [...focus]; }
    const i = time === undefined ? player.at : player.indexAt(time), moved = i !== player.at;
    if (!first) this.told = JSON.stringify({ position: stage.camera.position, focus: stage.camera.focus, ...(BESIDE === 0 ? { time: player.times[i] } : {}) });
    if (moved) player.seek(i); else this.app.redraw();
  }
}
