// A movie of a run: frames are encoded with the times that they have in the run, and put into a webm file here.

const BITS = 8e6, KEY_EVERY = 30;

// An element of EBML, the binary XML that webm is: id, length, content.
function ebml(id, ...content) {
  const bytes = content.flatMap((c) => (typeof c === "string" ? [new TextEncoder().encode(c)] : [c])), size = bytes.reduce((sum, b) => sum + b.length, 0);
  const head = id.match(/../g).map((h) => parseInt(h, 16)), length = Array.from({ length: 8 }, (_, k) => (k ? Math.floor(size / 256 ** (7 - k)) % 256 : 1)); // 7 bytes
  return joined([new Uint8Array([...head, ...length]), ...bytes]);
}

function joined(parts) {
  const out = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  parts.reduce((at, p) => { out.set(p, at); return at + p.length; }, 0);
  return out;
}

const whole = (value) => new Uint8Array([24, 16, 8, 0].map((shift) => (value >>> shift) & 255));

function real(value) { const out = new DataView(new ArrayBuffer(8)); out.setFloat64(0, value); return new Uint8Array(out.buffer); }

// Chunks of VP8 with times [ms] as a webm file that lasts for `length` [ms].
function webm(chunks, width, height, length) {
  const video = ebml("e0", ebml("b0", whole(width)), ebml("ba", whole(height)));
  const track = ebml("ae", ebml("d7", whole(1)), ebml("73c5", whole(1)), ebml("83", whole(1)), ebml("86", "V_VP8"), video);
  const about = ebml("1549a966", ebml("2ad7b1", whole(1000000)), ebml("4489", real(length)), ebml("4d80", "pliant"), ebml("5741", "pliant"));
  const clusters = [];
  for (const chunk of chunks) {
    if (chunk.key) clusters.push({ time: chunk.time, blocks: [] });
    const { time, blocks } = clusters.at(-1), after = chunk.time - time;
    blocks.push(ebml("a3", new Uint8Array([0x81, (after >> 8) & 255, after & 255, chunk.key ? 0x80 : 0]), chunk.data));
  }
  const head = ebml("1a45dfa3", ebml("4286", whole(1)), ebml("42f7", whole(1)), ebml("42f2", whole(4)), ebml("42f3", whole(8)), ebml("4282", "webm"), ebml("4287", whole(2)), ebml("4285", whole(2)));
  return joined([head, ebml("18538067", about, ebml("1654ae6b", track), ...clusters.map((c) => ebml("1f43b675", ebml("e7", whole(c.time)), ...c.blocks)))]);
}

class Movie {
  constructor(app) { this.app = app; this.making = false; }

  // Begin, or stop and keep what there is.
  press() { if (this.making) this.making = false; else this.make(); }

  async make() {
    const { panel, player } = this.app, first = panel.composed(), { width, height } = first, chunks = [];
    if (!window.VideoEncoder) return say("This browser cannot make movies here; pliant export RUN --to mp4 can.", true, 10);
    let wrong = null, made = 0, last = -Infinity;
    const take = (chunk) => { const data = new Uint8Array(chunk.byteLength); chunk.copyTo(data); chunks.push({ data, key: chunk.type === "key", time: Math.round(chunk.timestamp / 1000) }); };
    const encoder = new VideoEncoder({ output: take, error: (error) => (wrong = error) });
    encoder.configure({ codec: "vp8", width, height, bitrate: BITS });
    player.pause(); this.making = true; this.button("stop and save");
    const begin = player.times[0], milliseconds = (i) => Math.round((1000 * (player.times[i] - begin)) / player.speed);
    for (; made < player.count && this.making && !wrong; made++) {
      await player.seek(made);
      const key = made % KEY_EVERY === 0 || milliseconds(made) - last > 20000; // a cluster holds at most 32 s
      if (key) last = milliseconds(made);
      const shown = panel.composed(), paper = shown.width === width && shown.height === height ? shown : fitted(shown, width, height);
      const frame = new VideoFrame(paper, { timestamp: 1000 * milliseconds(made) });
      encoder.encode(frame, { keyFrame: key }); frame.close();
      while (encoder.encodeQueueSize > 4) await new Promise((next) => setTimeout(next, 10));
      say(`Movie: frame ${made + 1} of ${player.count}`);
    }
    this.making = false; this.button("movie");
    if (!wrong) await encoder.flush().catch((error) => (wrong = error));
    if (wrong) return say(`The movie could not be made: ${wrong.message}`, true, 10);
    const step = made > 1 ? milliseconds(made - 1) - milliseconds(made - 2) : 40, length = milliseconds(made - 1) + step;
    download(new Blob([webm(chunks, width, height, length)], { type: "video/webm" }), `${this.app.stage.words.title}.webm`);
    say(`Movie saved: ${made} frame${made === 1 ? "" : "s"}, ${short3(length / 1000)} s at ${player.speed} × the speed of the run.`, false, 8);
  }

  button(words) { document.getElementById("save-movie").textContent = words; }
}

// The window may change its size while a movie is made.
function fitted(from, width, height) {
  const out = element("canvas", { width, height });
  out.getContext("2d").drawImage(from, 0, 0, width, height);
  return out;
}
