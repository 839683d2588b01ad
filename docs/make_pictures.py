"""Makes the pictures of the documentation with pliant itself:  .venv/bin/python docs/make_pictures.py [NAME ...]"""

import math
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from pliant import Scene
from pliant.base import Floats
from pliant.contact.contacts import Contacts
from pliant.contact.elastic.pressure import pressure as pressure_between
from pliant.geometry.near import kd_tree
from pliant.look import Camera, Picture, draw, draw_series, fields, from_run, from_simulation, movie, poster
from pliant.look.draw import Canvas, draw_with_contact, scale_of, viewpoint
from pliant.look.figure import figure as paper_figure
from pliant.look.pairs import STATES, Marks, marks_of
from pliant.look.stage import extremes
from pliant.record import Run
from pliant.shop import scenes
from pliant.shop.scenes import basics, corners
from pliant.shop.scenes.thesis import cube_velocity
from pliant.simulate import running
from pliant.simulate.simulation import Simulation

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
SIZE = (720, 540)

# One of each shape for the contact sheet, with parameters that show it well.
SHAPES = {
    "box": {"size": (0.3, 0.2, 0.15)},
    "ball": {"radius": 0.1},
    "ellipsoid": {"radii": (0.15, 0.1, 0.07)},
    "cylinder": {"radius": 0.08, "height": 0.2},
    "capsule": {"radius": 0.06, "length": 0.15},
    "torus": {"major": 0.1, "minor": 0.04},
    "plate": {"size": (0.3, 0.2), "thickness": 0.02},
    "membrane": {"size": (0.3, 0.2)},
    "wedge": {"size": (0.3, 0.15, 0.12)},
    "arch_stone": {"inner": 0.2, "outer": 0.3, "angle": 35.0, "depth": 0.15},
    "bowl": {"radius": 0.15, "thickness": 0.02},
    "socket": {"radius": 0.1, "thickness": 0.02},
    "chain": {},
    "lathe": {"profile": [(0.06, 0.0), (0.09, 0.06), (0.05, 0.13), (0.03, 0.2), (0.045, 0.22)]},
    "pawn": {},
    "rook": {},
    "bishop": {},
    "queen": {},
    "teapot": {},
    "mouth": {},
    "foot": {},
    "bunny": {},
    "bust": {},
    "room": {},
}


def save(image: Image.Image, name: str) -> None:
    path = PICTURES / name
    image.save(path, optimize=True)
    print(f"{path.relative_to(HERE.parent)}: {path.stat().st_size // 1000} kB")


def recorded(scene: Scene, folder: Path) -> Path:
    sim, recorder = running.start(scene, folder / scene.name)
    return running.run(sim, recorder).path


def make_shapes(folder: Path) -> None:
    columns, size = 6, (240, 200)
    rows = -(-len(SHAPES) // columns)
    sheet = Image.new("RGB", (columns * size[0], rows * size[1]), "white")
    for i, (kind, parameters) in enumerate(SHAPES.items()):
        scene = Scene(name=kind, contact="none")
        scene.add(shape={"kind": kind, **parameters}, model="static")
        picture = draw(from_simulation(scene.simulate()), "body", (2 * size[0], 2 * size[1]))
        sheet.paste(picture.resize(size), (i % columns * size[0], i // columns * size[1]))
    save(sheet.quantize(64), "shapes.png")


def make_demo(folder: Path) -> None:
    path = recorded(scenes.make("footprint"), folder)
    with Run.open(path) as run:
        save(Image.open(poster(run, folder / "demo.png", field="max_pressure", size=(1280, 576))).quantize(255), "demo.png")
        movie(run, PICTURES / "demo.gif", field="max_pressure", fps=12, size=(320, 240), frames=range(0, run.frames, 5))
    print(f"docs/pictures/demo.gif: {(PICTURES / 'demo.gif').stat().st_size // 1000} kB")


def seen_through(
    picture: Picture, size: tuple[int, int], camera: tuple[float, float], title: str = "contact, seen through", time: float = math.nan,
    corners: Floats | None = None,
) -> Image.Image:  # fmt: skip
    """What is pressed, through bodies of glass; corners [m] (2, 3) of the box that is to be seen, of what can move unless given."""
    around = extremes(picture.movable_points() if corners is None else corners[np.indices((2, 2, 2)).reshape(3, -1).T, np.arange(3)])
    scale = scale_of("pressure", fields.sample(picture, "pressure"), None, fields.extent(around))
    with Canvas(around, size, viewpoint(around, size, camera, scale), scale, through=True) as canvas:
        return canvas.draw(replace(picture, title=title, time=time))


def make_points(folder: Path) -> None:
    """A bust that melts, and one that tears, at three times with one camera, by displacement and by part; the contact at the end."""
    size = (440, 400)
    sheet = Image.new("RGB", (4 * size[0], 2 * size[1]), "white")
    rows = {"melting-bust": ((0.3, 1.35, 3.0), "displacement"), "torn-head": ((0.0, 0.34, 1.5), "body")}
    for row, (name, (times, field)) in enumerate(rows.items()):
        with Run.open(recorded(scenes.make(name), folder)) as run:
            pictures = [from_run(run, int(abs(run.times - time).argmin())) for time in times]
            images = draw_series(pictures, field, (2 * size[0], 2 * size[1]), camera=(-60, 12))
            images.append(seen_through(pictures[-1], (2 * size[0], 2 * size[1]), (-60, 30)))
            for column, image in enumerate(images):
                sheet.paste(image.resize(size, Image.Resampling.LANCZOS), (column * size[0], row * size[1]))
    save(sheet, "point-bodies.png")


def make_own_mesh(folder: Path) -> None:
    path = recorded(Scene.load(HERE.parent / "examples" / "02_own_mesh.toml"), folder)
    with Run.open(path) as run:
        save(draw_with_contact(from_run(run, run.frames - 1), size=(1200, 540)), "own-mesh.png")


def make_cantilever(folder: Path) -> None:
    path = recorded(scenes.make("cantilever"), folder)
    with Run.open(path) as run:
        save(draw(from_run(run, run.frames - 1), size=SIZE, camera=(-80, 12)), "cantilever.png")


def make_ground(folder: Path) -> None:
    """Pressure under a soft block that carries a rigid ball."""
    scene = Scene(name="ground", dt=0.002, duration=0.6)
    scene.add(name="floor", shape="plane", model="static")
    soft = {"youngs_modulus": 4e4, "poisson_ratio": 0.4, "stiffness_damping": 0.01}
    scene.add(name="cushion", shape={"kind": "box", "size": (0.3, 0.3, 0.1), "edge": 0.02}, position=(0, 0, 0.05), material=soft)
    scene.add(name="ball", shape={"kind": "ball", "radius": 0.08}, model="rigid", position=(0, 0, 0.19), material={"density": 7800.0})
    path = recorded(scene, folder)
    with Run.open(path) as run:
        picture = from_run(run, run.frames - 1)
        save(draw(picture, "pressure", SIZE, transparent=["ball"]), "ground.png")


def make_redefinition(folder: Path) -> None:
    """Feature pairs by state in the figures of thesis ch. 6, with their rule off and on."""
    views = {
        "6.1": (0.06, Camera((0.85, -1.5, 0.3), (0.45, 0.05, 0.0))), "6.2": (0.1, Camera((0.4, -1.7, 1.1), (-0.2, 0.0, 0.1))),
        "6.3": (0.07, Camera((0.45, -0.9, 0.55), (0.17, 0.0, 0.0))), "6.4": (0.32, Camera((0.55, -1.2, 0.6), (0.15, 0.0, 0.0))),
        "6.9": (0.03, Camera((0.9, -2.2, 0.5), (0.1, -0.3, 0.1))),
    }  # fmt: skip
    size = (480, 330)
    sheet = Image.new("RGB", (2 * size[0], len(views) * size[1]), "white")
    for i, (figure, (time, camera)) in enumerate(views.items()):
        for rule in (False, True):
            scene = scenes.make("hooked", figure=figure, rule=rule)
            scene.name = f"{figure}, rule {'on' if rule else 'off'}"
            sim = scene.simulate().run(until=time)
            picture = replace(from_simulation(sim), marks=marks_of(sim))
            image = draw(picture, "body", (2 * size[0], 2 * size[1]), camera, transparent=[b.name for b in scene.bodies], edges=True)
            sheet.paste(image.resize(size), (rule * size[0], i * size[1]))
    save(sheet.quantize(256, method=Image.Quantize.FASTOCTREE), "redefinition.png")


def make_reversal(folder: Path) -> None:
    """Before, in and after a collision, with one camera and one scale: displacement without rigid motion is the dent."""
    from pliant.shop.reproduce.motheram import moment
    from pliant.shop.scenes.motheram import Watch

    sim, size = scenes.make("sphere-and-bunny", integrator="verlet").simulate(), (480, 400)
    watch, pictures = Watch(sim), []
    sheet = Image.new("RGB", (3 * size[0], size[1]), "white")
    for until in (0.0, 0.14, 0.3):
        sim.run(until=until, each=lambda report: watch.look())
        pictures.append(moment(watch))
    for k, image in enumerate(draw_series(pictures, "displacement", (2 * size[0], 2 * size[1]), camera=(-80, 12))):
        sheet.paste(image.resize(size, Image.Resampling.LANCZOS), (k * size[0], 0))
    save(sheet, "reversal.png")


def make_point_surface(folder: Path) -> None:
    """Two busts in full contact, one as glass, and a head pressed into a table, through it and from below: pressure."""
    from pliant.shop.reproduce.keiser import colliding_busts

    size = (560, 420)
    sheet, large = Image.new("RGB", (3 * size[0], size[1]), "white"), (2 * size[0], 2 * size[1])
    busts = from_simulation(colliding_busts().simulate().run(until=0.046))
    head = from_simulation(scenes.make("flattened-head", edge=0.006).simulate().run(until=0.5))
    images = (
        draw(replace(busts, planes=()), "pressure", large, (-160, 6), (0.0, 80e3), ["left"]),
        seen_through(head, large, (-60, 20)),
        draw(replace(head, planes=()), "pressure", large, (-60, -55)),
    )
    for k, image in enumerate(images):
        sheet.paste(image.resize(size, Image.Resampling.LANCZOS), (k * size[0], 0))
    save(sheet, "point-surface.png")


# Scenes of the method noniterative: parameters, where the camera stands, the field shown, bodies to look through so that contacts are seen
# (names that begin so), and whether bodies are shaded as round ones.
NONITERATIVE = {
    "squeezed-bars": ({}, (-60, 30), "pressure", ("press", "bar3"), False),
    "soft-cube-stiff-bars": ({}, (-60, 25), "pressure", ("upper",), False),
    "archway": (
        {"duration": 1.5},
        Camera((0.4, -1.2, 0.45), (0.0, 0.0, 0.11)),
        "pressure",
        ("stone2", "stone4", "stone6", "stone8"),
        False,
    ),
    "chess-500": ({}, (-58, 38), "body", ("wall",), True),
    "folding-strip": ({}, (-75, 15), "pressure", (), False),
    "two-free-cubes": ({"duration": 0.1}, None, "pressure", ("large",), False),
}


def draw_noniterative(name: str, picture: Picture) -> Image.Image:
    _, camera, field, clear, smooth = NONITERATIVE[name]
    glass = [body for body in picture.names.values() if body.startswith(clear)] if clear else None
    return draw(picture, field, SIZE, camera=camera, transparent=glass, smooth=smooth)


def make_noniterative(name: str, folder: Path) -> None:
    sim = scenes.make(name, **NONITERATIVE[name][0]).simulate().run()
    save(draw_noniterative(name, from_simulation(sim)), f"{name}.png")


def make_chain(folder: Path) -> None:
    """Sixty rings at rest from near by, and what they press on from below, through the membrane."""
    picture, size = from_simulation(scenes.make("chained-tori", links=60, duration=2.2).simulate().run()), (720, 540)
    above, below = Camera((0.30, -0.56, 0.20), (0.0, 0.0, -0.045)), Camera((0.25, -0.46, -0.46), (0.0, 0.0, -0.03))
    sheet = Image.new("RGB", (2 * size[0], size[1]), "white")
    sheet.paste(draw(picture, "body", size, above, smooth=True), (0, 0))
    sheet.paste(draw(picture, "pressure", size, below, (0.0, 800.0), ["membrane"], smooth=True), (size[0], 0))
    save(sheet, "chained-tori.png")


def make_thesis(folder: Path) -> None:
    """Above: a cube on a bar, pairs that hold it back rest (with redefinition) or push. Below: bar on cube, bunny in bowl from below."""
    size = (640, 480)
    sheet = Image.new("RGB", (2 * size[0], 2 * size[1]), "white")
    pictures = []
    for on in (True, False):
        sim = scenes.make("cube-on-bar", redefinition=on).simulate().run(until=0.06)
        title = f"cube-on-bar, {'with redefinition' if on else 'without'}: {cube_velocity(sim)[0]:.2f} m/s"
        pictures.append(replace(from_simulation(sim), marks=marks_of(sim), title=title))
    close = Camera((0.05, -0.75, 0.33), (-0.27, 0.0, 0.03))
    images = draw_series(pictures, "body", size, close, transparent=["bar", "cube"], edges=True)
    for name, time, clear, camera in (("bar-on-cube", 1.2, ["bar"], (-60, 32)), ("bunny-in-bowl", 0.3, ["bowl"], (-60, -38))):
        sim = scenes.make(name).simulate().run(until=time)
        images.append(draw(replace(from_simulation(sim), planes=()), "pressure", size, camera, transparent=clear))
    for k, image in enumerate(images):
        sheet.paste(image, (k % 2 * size[0], k // 2 * size[1]))
    save(sheet, "thesis.png")


def make_responses(folder: Path) -> None:
    """T7's bunny after 0.16 and 0.2 s with both responses."""
    from pliant.shop.reproduce.thesis import bowl

    pictures, path = [], folder / "bunny-responses.png"
    for response in bowl.RESPONSES:
        seen = bowl.Fall(response, s=bowl.STIFF, duration=bowl.IMPACT, dt=0.001)
        for until in (bowl.HIT, bowl.IMPACT):
            seen.run(until)
            pictures.append(bowl.shot(seen, response))
    bowl.draw(path, pictures)
    save(Image.open(path).resize((1440, 720), Image.Resampling.LANCZOS), path.name)


def make_quasi_rigid(folder: Path) -> None:
    """The six scenes, looked at from where the pressure is: from below, without the ground, or through the partner."""
    sheet, size = Image.new("RGB", (3 * 480, 2 * 360), "white"), (960, 720)
    nose, corner = Camera((0.2, -0.17, 0.27), (0.0, 0.0, 0.222)), Camera((2.4, -1.2, 0.1), (0.7, 0.1, 0.45))
    shots = (
        ("ball-on-plane", {"density": 9000.0, "layer": 0.05}, 0.2, (-60, -35), ["slab"]), ("foot-on-ground", {}, 0.3, (-60, -50), None),
        ("bust-kiss", {}, 0.016, nose, ["right"]), ("ball-joint", {}, 0.1, (-60, -20), None),
        ("spinning-ball", {"angle": 0.0}, 0.1, (-60, -50), None), ("head-in-room", {}, 0.264, corner, ["room"]),
    )  # fmt: skip
    for i, (name, values, time, camera, clear) in enumerate(shots):
        sim = scenes.make(name, **values).simulate().run(until=time)
        picture = replace(from_simulation(sim), planes=())
        picture = replace(picture, point_fields={**picture.point_fields, "pressure": between_nodes(sim, picture)})
        image = draw(picture, "pressure", size, camera=camera, transparent=clear)
        sheet.paste(image.resize((480, 360), Image.Resampling.LANCZOS), (i % 3 * 480, i // 3 * 360))
    save(sheet, "quasi-rigid.png")


def between_nodes(sim: Simulation, picture: Picture) -> Floats:
    """Pressure [Pa] at all points as the method has it between its nodes, which are not those of the skin (theory/quasi-rigid 4.6)."""
    found, out = sim.contacts(), np.zeros(len(picture.points))
    x, area, force = found.point, found.area, found.normal_force
    far, nearest = kd_tree(x).query(picture.points)
    near = far < 3.0 * np.sqrt(area)[nearest]
    out[near] = pressure_between(x, area, force, picture.points[near])
    return out


def make_patch(folder: Path) -> None:
    """Pressure on a stepped block under three methods, seen from below."""
    sheet, size = Image.new("RGB", (3 * 400, 300), "white"), (800, 600)
    for k, method in enumerate((basics.PATCH, "noniterative", "penalty")):
        sim = scenes.make("stepped-block", contact=method).simulate().run()
        picture = replace(from_simulation(sim), title="patch" if method == basics.PATCH else method)
        clear = [body.name for body in sim.scene.bodies if body.name.startswith("step ")]
        image = draw(picture, "pressure", size, camera=(-60, -40), transparent=clear, limits=(0.0, 4e4))
        sheet.paste(image.resize((400, 300), Image.Resampling.LANCZOS), (k * 400, 0))
    save(sheet, "stepped-block.png")


def make_corners(folder: Path) -> None:
    """All corner cases when most presses in 0.15 s: points and forces on what lies above, pressure, through bodies of glass."""
    size = (300, 250)
    sheet = Image.new("RGB", (5 * size[0], 3 * size[1]), "white")
    for k, case in enumerate(corners.CASES):
        sim = scenes.make("corner-cases", case=case, contact=basics.PATCH).simulate()
        strongest, loads = 0.0, Contacts.none()
        while sim.time < 0.15 - 1e-9:
            sim.step()
            found = sim.contacts("above")
            load = float(np.linalg.norm(found.force, axis=1).sum())
            if load > strongest:
                strongest, loads, picture = load, found, from_simulation(sim)
        low, high = picture.movable_points().min(axis=0), picture.movable_points().max(axis=0)
        low[2] -= 0.4 * (high[2] - low[2])  # of what is below
        picture = replace(picture, planes=(), marks=arrows(loads, 0.3 * float(np.linalg.norm(high - low))))
        image = seen_through(picture, (2 * size[0], 2 * size[1]), (-60, 12), case, picture.time, np.array([low, high]))
        sheet.paste(image.resize(size, Image.Resampling.LANCZOS), (k % 5 * size[0], k // 5 * size[1]))
    save(sheet, "corner-cases.png")


def arrows(found: Contacts, longest: float) -> Marks:
    """Points of contact, and from each a line along its force, the largest of them so long [m]."""
    size = np.linalg.norm(found.force, axis=1)
    some = size > 0.01 * size.max()
    point, force = found.point[some], found.force[some] * (longest / size.max())
    count = len(point)
    red = np.full(count, list(STATES).index("hooked"))
    return Marks(point, red, np.stack([point, point + force], axis=1), red, {})


def make_figure(folder: Path) -> None:
    """What `pliant figure --curve force` makes, smaller."""
    with Run.open(recorded(scenes.make("bowl"), folder)) as run:
        made = paper_figure(run, folder / "figure.png", time=0.304, field="von_mises", size=(170, 70), curve="force")
    save(Image.open(made).convert("RGB").resize((1200, 494), Image.Resampling.LANCZOS), "figure.png")


def make_view(folder: Path) -> None:
    """The page of `pliant view`, in headless Chromium (pip install playwright; Debian: apt install chromium)."""
    import shutil

    from playwright.sync_api import sync_playwright

    from pliant.live.reel import serve

    ways = ["--headless=new", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
    with Run.open(recorded(scenes.make("bowl"), folder)) as run, serve(run, "pressure", port=0) as server, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=ways)
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.goto(server.address)
        page.wait_for_timeout(3000)
        page.check("#show-forces")
        page.evaluate("pliant.stage.camera.zoom(0.75)")
        page.evaluate("pliant.player.seek(20)")
        page.wait_for_timeout(2000)
        page.screenshot(path=folder / "view.png")
        browser.close()
    save(Image.open(folder / "view.png").convert("RGB").resize((1024, 576), Image.Resampling.LANCZOS).quantize(255), "view.png")


MAKE = {
    "shapes": make_shapes, "demo": make_demo, "own-mesh": make_own_mesh, "cantilever": make_cantilever, "ground": make_ground,
    "points": make_points,
    "redefinition": make_redefinition,
    "reversal": make_reversal,
    **{name: partial(make_noniterative, name) for name in NONITERATIVE},
    "point-surface": make_point_surface,
    "chained-tori": make_chain,
    "thesis": make_thesis,
    "responses": make_responses,
    "quasi-rigid": make_quasi_rigid,
    "patch": make_patch,
    "corners": make_corners,
    "figure": make_figure,
    "view": make_view,
}  # fmt: skip

if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MAKE:
        with tempfile.TemporaryDirectory() as temporary:
            MAKE[name](Path(temporary))
