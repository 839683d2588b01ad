"""pliant and other packages on the same scenes, side by side in one run: time, depth, inverted elements, volume and error of the force.

    python benchmarks/peers.py --install                 # environments under .peers, one each; nothing else is downloaded or changed
    python benchmarks/peers.py [--scenes S1,S2,S3,pile,stair,cloth] [--peers pliant,MuJoCo,...] [--budget 60] [--write]

Scenes and how they are measured: benchmarks/peer_scenes.py; how each package is set up: benchmarks/peer_runs. Times are CPU seconds a
simulated second, of the steps alone, one thread each; a run ends with the scene or after --budget CPU seconds, and then says how far it
got: contacts build up as bodies settle, so that its time is a lower bound. `--write` makes docs/benchmarks.md of what was measured (and
keeps it in benchmarks/peers.json); rows that were not run again stay as they were, with their date.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import venv
from datetime import date
from pathlib import Path

import numpy as np
from hertz_grid import TAMAAS
from hertz_grid import pliant as press
from peer_scenes import block, skin

HERE = Path(__file__).parent
ROOT, KEPT = HERE.parent, HERE / "peers.json"
ENVIRONMENTS = ROOT / ".peers"
NEEDS = {
    "mujoco": ["mujoco"], "newton": ["newton"], "drake": ["drake", "numpy"], "pybullet": ["pybullet", "numpy"], "pypbd": ["pypbd", "numpy"],
    "tamaas": ["tamaas", "numpy", "scipy"], "ipctk": ["ipctk", "numpy"], "coal": ["coal", "numpy"],
}  # fmt: skip
PEERS = {"pliant": "pliant", "MuJoCo": "mujoco", "Newton": "newton", "Drake": "drake", "PyBullet": "pybullet", "pyPBD": "pypbd"}
SCENES = ("S1", "S2", "S3", "pile", "stair", "cloth")
QUERIES = 200_000
ONE = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # thread each: CPU time is told


def python_of(name: str) -> Path:
    """The interpreter of a package."""
    return Path(sys.executable) if name == "pliant" else ENVIRONMENTS / name / "bin" / "python"


def install(names: list[str]) -> None:
    """Make the environments that are not there."""
    for name in names:
        if not python_of(name).exists():
            venv.create(ENVIRONMENTS / name, with_pip=True)
        done = subprocess.run([str(python_of(name)), "-m", "pip", "install", "-q", *NEEDS[name]], capture_output=True, text=True)
        print(f"{name}: {'installed' if done.returncode == 0 else (done.stderr.strip().splitlines() or ['failed'])[-1]}", flush=True)


def ran(peer: str, scene: str, budget: float) -> dict:
    """One package on one scene."""
    name, row = PEERS[peer], {"peer": peer, "scene": scene, "on": date.today().isoformat()}
    if not python_of(name).exists():
        return row | {"trouble": "not installed"}
    given = [str(python_of(name)), str(HERE / "peer_runs"), name, scene, str(budget)]
    try:
        done = subprocess.run(given, capture_output=True, text=True, timeout=60 * budget + 600, env=ONE, cwd=tempfile.gettempdir())
    except subprocess.TimeoutExpired:
        return row | {"trouble": "did not end"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return row | {"trouble": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:120]}
    return row | json.loads(lines[-1])


def components() -> list[dict]:
    """Queries against ipctk and coal, and the press against tamaas; each only if it is installed."""
    rng, rows = np.random.default_rng(5), []
    start = rng.uniform(-1, 1, (QUERIES, 4, 3))
    points, tets = block((24, 24, 24), 2.0)
    faces, points = skin(tets), points - 1.0
    ball = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-12) * np.abs(points).max(axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "inputs.npz"
        np.savez(path, start=start, end=start + rng.uniform(-1, 1, start.shape), one=ball, other=ball + [0.9, 0.31, 0.13], faces=faces)
        said = {name: _component(name, path) for name in ("pliant", "ipctk", "coal")}
    crossing = f"crossing triangles of two balls of {len(faces)}"
    parts = ("ipctk", "vertex-face query of continuous collision", "us", 1e6), ("coal", crossing, "ms", 1e3)
    for name, what, unit, per in parts:
        if "result" in said["pliant"] and "result" in said[name]:
            ours, theirs = said["pliant"]["result"][name], said[name]["result"]
            rows.append({
                "what": what, "package": f"{name} {said[name]['version']}", "unit": unit, "ours": per * ours["seconds"],
                "theirs": per * theirs["seconds"], "found": [ours["found"], theirs["found"]],
            })  # fmt: skip
        else:
            rows.append({"what": what, "package": name, "trouble": said[name].get("trouble", said["pliant"].get("trouble", ""))})
    for n in (128, 256):
        rows.append(_press(n))
    return rows


def _component(name: str, path: Path) -> dict:
    if not python_of(name).exists():
        return {"trouble": "not installed"}
    given = [str(python_of(name)), str(HERE / "peer_runs" / "components.py"), name, str(path)]
    done = subprocess.run(given, capture_output=True, text=True, env=ONE)
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else {"trouble": (done.stderr.strip().splitlines() or ["failed"])[-1][:120]}


def _press(n: int) -> dict:
    row = {"what": f"ball on a grid of {n} x {n}, free borders", "unit": "ms", "package": "tamaas"}
    if not python_of("tamaas").exists():
        return row | {"trouble": "not installed"}
    script = TAMAAS + "\nprint(tm.__version__)"
    done = subprocess.run([str(python_of("tamaas")), "-c", script, str(n)], capture_output=True, text=True, env=ONE)
    lines = done.stdout.split()
    if done.returncode != 0 or len(lines) < 6:
        return row | {"trouble": (done.stderr.strip().splitlines() or ["failed"])[-1][:120]}
    ours = press(n)
    found = [ours[2], float(lines[2])]
    return row | {"package": f"tamaas {lines[-1]}", "ours": 1e3 * ours[1], "theirs": 1e3 * float(lines[1]), "found": found}


# -- telling


def number(value: object, form: str) -> str:
    """A number, or a dash."""
    return "-" if value is None or (isinstance(value, float) and np.isnan(value)) else format(value, form)


def table(rows: list[dict]) -> str:
    """Scenes of all packages, as Markdown."""
    columns = "scene", "package", "CPU s per simulated s", "reached", "deepest", "inverted", "least volume", "force on the ground", "run on"
    out = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    order = {name: k for k, name in enumerate(SCENES)}
    known = {(row["scene"], row["peer"].split(" (")[0]) for row in rows}
    missing = [(scene, peer) for scene in SCENES for peer in PEERS if (scene, peer) not in known]
    rows = rows + [{"scene": scene, "peer": peer, "trouble": "not run yet", "on": ""} for scene, peer in missing]
    for row in sorted(rows, key=lambda r: (order[r["scene"]], list(PEERS).index(r["peer"].split(" (")[0]))):
        name = f"{row['peer']} {row.get('version', '')}".strip()
        if "rate" not in row:
            out.append(f"| {row['scene']} | {name} | {row['trouble']} | | | | | | {row['on']} |")
            continue
        depth = "-" if row["depth"] is None else "exploded" if row["depth"] > 10 else f"{1e3 * row['depth']:.2f} mm"
        force = "-" if row["force"] is None else f"{row['force']:+.1e}"
        reached = f"{row['reached']:.2f} s" + (f": {row['trouble']}" if row["trouble"] else "")
        out.append(
            f"| {row['scene']} | {name}, {1e3 * row['dt']:.3g} ms | {row['rate']:.3g} | {reached} | {depth} | "
            f"{number(row['inverted'], '.0f')} | {number(row['volume'], '.3f')} | {force} | {row['on']} |"
        )
    return "\n".join(out)


def component_table(rows: list[dict]) -> str:
    """Parts, as Markdown."""
    out = ["| part | other package | it | pliant | ratio | found by it, by pliant |", "|---|---|---|---|---|---|"]
    for row in rows:
        if "ours" not in row:
            out.append(f"| {row['what']} | {row['package']}: {row['trouble']} | | | | |")
        else:
            ours, theirs = row["found"]
            out.append(
                f"| {row['what']} | {row['package']} | {row['theirs']:.3g} {row['unit']} | {row['ours']:.3g} {row['unit']} | "
                f"{row['ours'] / row['theirs']:.3g} | {theirs:.4g}, {ours:.4g} |"
            )
    return "\n".join(out)


def write(kept: dict) -> None:
    """docs/benchmarks.md of what was measured."""
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for mark, text in (("peers", table(kept["rows"])), ("components", component_table(kept["components"])), ("machine", kept["machine"])):
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        page = page[: page.index(begin) + len(begin)] + "\n" + text + "\n" + page[page.index(end) :]
    (ROOT / "docs" / "benchmarks.md").write_text(page)


def machine() -> str:
    """What it was measured on."""
    model = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    core = model[0] if model else platform.processor()
    return f"{core}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f} at the end."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--install", action="store_true", help="make the environments")
    parser.add_argument("--peers", default=",".join(PEERS), help="which packages")
    parser.add_argument("--scenes", default=",".join(SCENES), help="which scenes; none: ''")
    parser.add_argument("--budget", type=float, default=60.0, help="CPU seconds of a run")
    parser.add_argument("--components", action="store_true", help="also the press and queries")
    parser.add_argument("--write", action="store_true", help="make docs/benchmarks.md")
    given = parser.parse_args()
    if given.install:
        install(list(NEEDS))
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"rows": [], "components": []}
    rows = []
    for scene in filter(None, given.scenes.split(",")):
        for peer in given.peers.split(","):
            rows.append(ran(peer, scene, given.budget))
            print(json.dumps(rows[-1]), flush=True)
    new = {(row["scene"], row["peer"].split(" (")[0]) for row in rows}
    kept["rows"] = [row for row in kept["rows"] if (row["scene"], row["peer"].split(" (")[0]) not in new] + rows
    if given.components:
        kept["components"] = components()
    days = {row["on"] for row in kept["rows"]} - {date.today().isoformat()}  # rows of other days may be of other machines
    said = [line for line in kept.get("machine", "").splitlines() if line.split(":")[0] in days]
    if rows or given.components:
        kept["machine"] = "\n".join([*said, f"{date.today().isoformat()}: {machine()}"])
    print(table(kept["rows"]), component_table(kept["components"]), sep="\n\n")
    if given.write:
        write(kept)


if __name__ == "__main__":
    main()
