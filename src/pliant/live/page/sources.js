// Where frames come from: a server, or data inside this file. Both give the same blocks.

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

class FileSource {
  constructor(data) { this.data = data; }
  async manifest() { return unpack(await inflated(this.data.manifest)).meta; }
  async topology(number) { return unpack(await inflated(this.data.topologies[number])); }
  async hierarchy(number) { return unpack(await inflated(this.data.hierarchies[number])); }
  async frame(i) { return unpack(await inflated(this.data.frames[i])); }
}

const KEY = { "X-Pliant-Key": new URLSearchParams(location.search).get("key") ?? "" }; // of the address it was opened with
const PAGE = Math.random().toString(36).slice(2); // which page of several it is

class ServerSource {
  constructor() { this.orders = 0; }
  async get(path) {
    if (BESIDE !== null) path += `${path.includes("?") ? "&" : "?"}run=${BESIDE}`;
    const answer = await fetch(path, { headers: KEY }).catch(() => { throw new Error("pliant does not answer any more: it was ended, or the network is gone. Start it again and load the page anew."); });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.arrayBuffer();
  }
  async manifest() { return unpack(await this.get("/manifest")).meta; }
  async topology(number) { return unpack(await this.get(`/topology?number=${number}`)); }
  async hierarchy(number) { return unpack(await this.get(`/hierarchy?number=${number}`)); }
  async frame(i, wanted) { return unpack(await this.get(`/frame?number=${i}&${wanted}`)); }
  async next(after, wanted) {
    const block = await this.get(`/next?after=${after}&${wanted}`);
    return block.byteLength ? unpack(block) : null;
  }
  // An order has a name of its own, so that it is done once, however often it is sent; one that has to wait is asked for until it is done.
  async order(what) {
    const body = JSON.stringify({ ...what, id: `${PAGE} ${++this.orders}` });
    for (;;) {
      const answer = await fetch("/do", { method: "POST", headers: { ...KEY, "Content-Type": "application/json" }, body });
      if (!answer.ok) return { ok: false, say: await answer.text() };
      const said = await answer.json();
      if (!said.queued) return said;
    }
  }
}
