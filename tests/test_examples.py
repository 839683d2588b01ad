"""The examples run, their scene files are valid, and the documentation names what there is."""

import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pliant import Answer, Contacts, register_method
from pliant import scene as scene_module
from pliant.bodies.register import ROOMS
from pliant.geometry.shapes import SHAPES, maker
from pliant.scene import Scene, Spec

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
DOCS = ROOT / "docs"

# What each example must print: its own comparison with theory, or the promise it makes.
PROMISES = {
    "01_drop_a_ball.py": r"first contact at 0\.20\d s, in theory 0\.202 s",
    "03_cantilever.py": r"quadratic edge 0\.050 m, .* [-+]0\.\d\d % of theory, held by 2\.000 N",
    "04_own_material.py": r"log-neo-hookean  stretch (1\.\d+)\n(.*\n)*exact for log-neo-hookean: \1",
    "05_own_contact.py": r"rigid    the floor carries 78\.\d+ N of 78\.48 N",
    "06_attachments_and_changes.py": r"gravity \(0\.0, 0\.0, 0\.0\)",
    "08_springs.py": r"every 0\.068\d s, in theory 0\.0686 s\n(.*\n)*voxels: .* carries 1\.00 weights\n(.*\n)*damping adaptive: flies at 3\.000",
    "09_press_a_foot.py": r"foot: 400\.0 N on .*\nball: 14\.\d+ N, by Hertz 14\.65 N, [-+]0\.\d %",
    "10_foreign_points.py": r"part at -0\.5\d and \+0\.5\d m/s along x\.\nMomentum is \d\.\de-1\d kg m/s",
    "11_own_body.py": r"implicit: the top sinks 3\.12\d mm, in theory 3\.125 mm\nverlet: the top sinks 3\.12\d mm",
    "12_foot_on_a_pad.py": r"the pad carries 361\.\d N: 350 N of load and 11\.\d N of weight\npeak \d+ kPa over the width of an element, \d+ cm2 touched",
    "07_record_and_resume.py": r"equal bit for bit: True",
}


def test_every_example_is_listed():
    assert sorted(PROMISES) == sorted(p.name for p in EXAMPLES.glob("[0-9]*.py"))


# Up to half a minute of processor; of the others those that tests of the same features stand for in the quick set.
SLOW = ("09_press_a_foot.py", "11_own_body.py", "12_foot_on_a_pad.py", "03_cantilever.py", "04_own_material.py", "06_attachments_and_changes.py")
# Runs each script as a program would be, the second in the process of the first: starting Python and pliant for every one takes half of the time.
RUNNER = """\
import runpy, sys
for path in sys.argv[1:]:
    print("<<<", path, flush=True)
    runpy.run_path(path, run_name="__main__")
"""


def printed_by(names: list[str], folder: Path) -> dict[str, str]:
    """What each example prints."""
    command = [sys.executable, "-c", RUNNER, *(str(EXAMPLES / n) for n in names)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ, timeout=3600)  # ends a hang; how long it takes says nothing on a busy machine
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
    parts = [part.split("\n", 1) for part in done.stdout.split("<<< ")[1:]]
    return {Path(path).name: text for path, text in parts}


QUICK = [n for n in sorted(PROMISES) if n not in SLOW]


@pytest.mark.parametrize("names", [QUICK, *(pytest.param([n], marks=pytest.mark.slow) for n in SLOW)], ids=str)
def test_examples_run(names, tmp_path):
    printed = printed_by(names, tmp_path)
    assert sorted(printed) == sorted(names)
    for name, text in printed.items():
        assert re.search(PROMISES[name], text), f"{name}: {text}"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.name)
def test_scene_file_of_example_is_valid(path):
    scene = Scene.load(path)
    assert len(scene.bodies) > 1
    assert Scene.from_toml(scene.to_toml()).to_toml() == scene.to_toml()


def test_scene_file_with_an_own_mesh_runs():
    """The first steps of 02_own_mesh.toml, with the surface as a rigid body: no tetrahedra have to be made."""
    scene = Scene.load(EXAMPLES / "02_own_mesh.toml")
    bunny = scene.bodies[1]
    bunny.material = dict(density=bunny.material.density)
    bunny.model = "rigid"
    sim = scene.simulate()
    low, high = sim.points("bunny").min(axis=0), sim.points("bunny").max(axis=0)
    assert 0.1 < high[2] - low[2] < 0.2  # read in millimetres with y up
    sim.run(until=0.3)
    assert len(sim.contacts("bunny", "ground")) > 0


def test_bunny_is_what_its_program_writes():
    """bunny.obj and the shape it was made of have the same faces, and points within the digits of the file."""
    import numpy as np

    from pliant import shapes
    from pliant.geometry.files import read

    made = shapes.make("bunny", height=0.15, edge=0.012).surface()
    found = read(EXAMPLES / "bunny.obj", unit="mm", up="y")
    assert np.array_equal(found.faces, made.faces)
    assert np.abs(found.points - made.points).max() < 1e-5


# -- the documentation


def block(language):
    """The first block of a language in the README."""
    return re.search(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)


def test_python_of_the_readme_runs(capsys):
    """The ball has come to rest, and the ground carries its weight, as the comments say."""
    names = {}
    exec(block("python"), names)
    sim = names["sim"]
    assert sim.centre("ball")[2] == pytest.approx(0.09, abs=0.002) and np.linalg.norm(sim.state.v) < 0.1
    assert sim.mass("ball") == pytest.approx(sim.world.model.nodes.mass.sum()) and sim.mass("ground") == float("inf")
    assert sim.contacts("ball", "ground").total_force[2] == pytest.approx(9.81 * sim.mass("ball"), rel=0.01)
    assert "(" in capsys.readouterr().out


def test_bare_arrays_of_the_page_on_detection():
    """What its comments promise."""
    first, exact = re.findall(r"```python\n(.*?)```", (DOCS / "detection.md").read_text(), re.S)[:2]
    names = {}
    for line in (first + exact).splitlines():
        said = re.search(r"  # \(?array\((.*?)\)[;:,]", line + ",")
        found = eval(line, names) if said else exec(line, names)
        if said:
            np.testing.assert_allclose(found[0] if isinstance(found, tuple) else found, eval(said[1]))
            names["asked"] = names.get("asked", 0) + 1
    assert names["asked"] == 4


def test_the_nearest_faces_of_the_page_on_detection(tmp_path):
    """The same as by looking at all of them, and none beyond the radius."""
    file, rng = tmp_path / "nearest.py", np.random.default_rng(3)
    file.write_text(re.findall(r"```python\n(.*?)```", (DOCS / "detection.md").read_text(), re.S)[-1])  # kernels are of a file
    names = runpy.run_path(str(file))
    points, faces, others = rng.random((90, 3)), np.arange(90).reshape(-1, 3), rng.random((40, 3))
    points = (points.reshape(-1, 3, 3) * 0.3 + rng.random((30, 1, 3))).reshape(-1, 3)
    found, distance = names["nearest_face"](points, faces, others, 0.1)
    t = np.linspace(0, 1, 60)
    u, v = (w[np.add.outer(t, t) <= 1.0 + 1e-9] for w in np.meshgrid(t, t))
    a, b, c = (points[faces[:, k]][:, None] for k in range(3))
    places = a + u[:, None] * (b - a) + v[:, None] * (c - a)  # many on each face: no nearer than the nearest, and nearly as near
    far = np.linalg.norm(others[:, None, None] - places, axis=-1).min(axis=2)
    assert ((found >= 0) == (distance < 0.1)).all() and 5 < (found >= 0).sum() < 40
    near = found >= 0
    assert (distance[near] <= far[near].min(axis=1) + 1e-12).all() and (far[near, found[near]] < distance[near] + 0.01).all()
    assert (far[~near] >= 0.1).all()


def test_queries_of_a_motion_on_the_page_on_detection():
    """Points in exact shapes, and the query of one's own: the same as all pairs, and no pair of bodies that does not meet."""
    names, seen = {}, []
    exec("\n".join(re.findall(r"```python\n(.*?)```", (DOCS / "detection.md").read_text(), re.S)[2:-1]), names)

    class Look:
        needs = frozenset()

        def respond(self, motion, memory):
            seen.append((names["near"](motion), motion.kept(names["NearPoints"]).find(motion.end, 0.06, motion.pairs.meet), motion))
            return Answer(Contacts.none(motion.dt))

    register_method("look", Look)
    scene = Scene(dt=0.01, contact="look", gravity=(0, 0, 0))
    scene.add(name="ground", shape="plane", model="static")
    box = dict(kind="box", size=(0.2, 0.2, 0.2), edge=0.1)
    for name, place, model in (("a", (0, 0, 0.12), "fem"), ("b", (0.21, 0.03, 0.12), "fem"), ("c", (0, 0.22, 0.12), "springs")):
        scene.add(name=name, shape=box, position=place, model=model, velocity=(0, 0, -3.0))
    scene.add(name="ball", shape=dict(kind="ball", radius=0.1), model="rigid", position=(1, 0, 0.12), velocity=(0, 0, -3.0))
    scene.pair("a", "c", contact=False)
    scene.simulate().step()
    (row_a, row_b, point, gap), (p, q, distance), motion = seen[0]
    assert set(zip(row_a, row_b, strict=True)) == {(1, 0), (2, 0), (3, 0), (4, 0)}  # all four are in the ground
    np.testing.assert_allclose(gap, motion.end[point, 2] - np.where(row_a == 4, 0.1, 0.0), atol=1e-12)
    x, body, surface = motion.end, motion.skin.body, np.zeros(len(motion.end), bool)
    for i, count in enumerate(motion.bodies.surface):
        surface[motion.bodies.point_start[i] : motion.bodies.point_start[i] + count] = True
    i, j = np.triu_indices(len(x), 1)
    far = np.linalg.norm(x[i] - x[j], axis=1)
    wanted = (far < 0.06) & surface[i] & surface[j] & (body[i] < body[j]) & ~((body[i] == 1) & (body[j] == 3))
    assert wanted.sum() > 8 and (p.tolist(), q.tolist()) == (i[wanted].tolist(), j[wanted].tolist())
    np.testing.assert_allclose(distance, far[wanted], rtol=1e-12)


def test_scene_of_the_readme_is_valid():
    scene = Scene.from_toml(block("toml"))
    assert [b.name for b in scene.bodies] == ["ground", "bunny"]
    assert len(block("toml").splitlines()) <= 12


def plain(text):
    """0.0 and 0 are the same number."""
    return re.sub(r"(\d)\.0\b", r"\1", text)


def documented_fields(model, row=r"^\| `(\w+)` \| (.*?) \|"):
    """(field, default) of each row of the table under the model's heading in docs/scene.md."""
    text = (DOCS / "scene.md").read_text()
    section = re.search(rf"^## {model}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert section, f"docs/scene.md has no section {model}"
    return re.findall(row, section.group(1), re.M)


def default_of(field):
    """The default of a field, as the documentation writes it."""
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Spec):
        return "defaults"
    if value is None:
        return "none"
    return f"`{scene_module.plain(value, '') if not isinstance(value, str) else quoted(value)}`".replace("True", "true").replace("False", "false")


def quoted(text):
    return f'"{text}"'


BY_MODEL = {"Body": {n: r.body for n, r in ROOMS.items()}, "Material": {n: r.material for n, r in ROOMS.items()}}
MODELS = [n for n, c in vars(scene_module).items() if inspect.isclass(c) and issubclass(c, Spec) and c is not Spec and n not in BY_MODEL]


@pytest.mark.parametrize("what", BY_MODEL)
def test_scene_reference_says_which_models_have_a_field(what):
    rows = {name: (default, words) for name, default, words in documented_fields(what, r"^\| `(\w+)` \| (.*?) \|.*?\| (.*?) \|")}
    assert set(rows) == {name for each in BY_MODEL[what].values() for name in each.model_fields}
    for name, (default, words) in rows.items():
        having = [model for model, each in BY_MODEL[what].items() if name in each.model_fields]
        known = {"all": list(ROOMS), "all but static": [model for model in ROOMS if model != "static"]}
        assert known.get(words, words.split(", ")) == having, name
        for each in (BY_MODEL[what][model] for model in having if name != "model"):
            assert plain(default) == plain(default_of(each.model_fields[name])), name


@pytest.mark.parametrize("model", MODELS)
def test_scene_reference_has_every_field_with_its_default(model):
    fields = getattr(scene_module, model).model_fields
    rows = documented_fields(model)
    assert [name for name, _ in rows] == list(fields)
    assert {name: plain(default) for name, default in rows} == {name: plain(default_of(f)) for name, f in fields.items()}


def test_shapes_page_has_every_shape_with_its_parameters():
    text = (DOCS / "shapes.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", text, re.M))
    assert set(rows) == {*SHAPES, "plane"}
    for name, function in ((name, maker(name)) for name in SHAPES):
        parameters = [p for p in inspect.signature(function).parameters if p not in ("edge", "name")]
        assert re.findall(r"`(\w+)`", rows[name]) == parameters, name


def test_links_between_pages_lead_somewhere():
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}, which does not exist"


def test_pages_name_files_that_exist():
    """Paths of this project in backticks (src/..., tests/..., contact/ground.py in the architecture page) are there."""
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for path in re.findall(r"`((?:src|tests|examples|docs|benchmarks)/[\w./-]+)`", page.read_text()):
            assert (ROOT / path).exists(), f"{page.relative_to(ROOT)} names {path}, which does not exist"
    for path in re.findall(r"`([\w/]+\.py)`", (DOCS / "architecture.md").read_text()):
        assert (ROOT / "src/pliant" / path).exists() or (ROOT / path).exists(), f"architecture.md names {path}, which does not exist"


def test_citation_names_the_version_and_the_five_sources():
    text = (ROOT / "CITATION.cff").read_text()
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M).group(1)
    assert f"\nversion: {version}\n" in text and "\nlicense: Apache-2.0\n" in text
    sources = text.split("\nreferences:\n")[1]
    assert len(re.findall(r"^  - type: ", sources, re.M)) == 5
    for author in ("Spillmann", "Darmstadt", "Pauly", "Keiser", "Motheram"):
        assert author in sources
