// Blocks of bytes as `pack.py` writes them.

const KINDS = { f32: Float32Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array, i8: Int8Array };

function unpack(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const arrays = {};
  let at = 4 + size;
  for (const spec of head.arrays) {
    const raw = new KINDS[spec.type](buffer, at, spec.count);
    at += raw.byteLength + ((4 - (raw.byteLength % 4)) % 4);
    arrays[spec.name] = spec.low ? widened(raw, spec) : raw;
  }
  return { meta: head.meta, arrays, bytes: buffer.byteLength };
}

// Numbers in 16 bits; 65535 stands for NaN.
function widened(raw, { low, step }) {
  const out = new Float32Array(raw.length), width = low.length;
  if (width === 1) {
    const from = low[0], by = step[0];
    for (let i = 0; i < raw.length; i++) out[i] = raw[i] === 65535 ? NaN : from + by * raw[i];
    return out;
  }
  for (let k = 0; k < width; k++) {
    const from = low[k], by = step[k];
    for (let i = k; i < raw.length; i += width) out[i] = raw[i] === 65535 ? NaN : from + by * raw[i];
  }
  return out;
}
