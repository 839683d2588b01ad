"""Makes the pictures of the documentation with pliant itself:  .venv/bin/python docs/make_pictures.py [NAME ...]"""

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image

from pliant import Scene
from pliant.look import Camera, draw, from_run, from_simulation, movie, poster
from pliant.look.pairs import marks_of
from pliant.record import Run
from pliant.shop import scenes
from pliant.shop.scenes import corners, surfaces
from pliant.simulate import running

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


def make_points(folder: Path) -> None:
    """A bust that melts, and one that tears, each at two times."""
    sheet = Image.new("RGB", (2 * SIZE[0], 2 * SIZE[1]), "white")
    for row, (name, times) in enumerate({"melting-bust": (1.35, 3.0), "torn-head": (0.34, 1.5)}.items()):
        with Run.open(recorded(scenes.make(name), folder)) as run:
            for column, time in enumerate(times):
                frame = int(abs(run.times - time).argmin())
                sheet.paste(draw(from_run(run, frame), "body", SIZE), (column * SIZE[0], row * SIZE[1]))
    save(sheet.resize(SIZE, Image.Resampling.LANCZOS).quantize(256), "point-bodies.png")


def make_own_mesh(folder: Path) -> None:
    path = recorded(Scene.load(HERE.parent / "examples" / "02_own_mesh.toml"), folder)
    with Run.open(path) as run:
        save(draw(from_run(run, run.frames - 1), size=SIZE), "own-mesh.png")


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
    """Before, in and after a collision, on one scale: what stands out is the dent."""
    sim, size = scenes.make("sphere-and-bunny", integrator="verlet").simulate(), (480, 400)
    sheet = Image.new("RGB", (3 * size[0], size[1]), "white")
    for k, until in enumerate((0.0, 0.14, 0.3)):
        image = draw(from_simulation(sim.run(until=until)), "speed", size=(2 * size[0], 2 * size[1]), camera=(-62, 12), limits=(0.0, 4.0))
        sheet.paste(image.resize(size), (k * size[0], 0))
    save(sheet.quantize(256), "reversal.png")


def make_point_surface(folder: Path) -> None:
    """Two busts in full contact, and a head pressed into a table."""
    from pliant.shop.reproduce.keiser import colliding_busts

    size = (480, 360)
    sheet = Image.new("RGB", (2 * size[0], size[1]), "white")
    for k, (scene, until) in enumerate(((colliding_busts(), 0.046), (scenes.make("flattened-head", edge=0.006), 0.5))):
        image = draw(from_simulation(scene.simulate().run(until=until)), "body", (2 * size[0], 2 * size[1]))
        sheet.paste(image.resize(size), (k * size[0], 0))
    save(sheet.quantize(128), "point-surface.png")


# Scenes of the method noniterative: parameters, where the camera stands, and the field shown.
NONITERATIVE = {
    "squeezed-bars": ({}, None, "body"),
    "soft-cube-stiff-bars": ({}, None, "von_mises"),
    "archway": ({"duration": 1.0}, (-70, 15), "body"),
    "chess-500": ({"duration": 0.66}, (-58, 40), "body"),
    "chained-tori": ({}, None, "body"),
    "folding-strip": ({}, (-75, 15), "body"),
    "two-free-cubes": ({"duration": 0.1}, None, "body"),
}


def make_noniterative(folder: Path) -> None:
    for name, (values, camera, field) in NONITERATIVE.items():
        sim = scenes.make(name, **values).simulate().run()
        save(draw(from_simulation(sim), field, SIZE, camera=camera).quantize(128), f"{name}.png")


def make_thesis(folder: Path) -> None:
    """A bar on a cube, a cube sliding on a bar, a bunny in a bowl and a cloth on a ball."""
    sheet, size = Image.new("RGB", (4 * 320, 240), "white"), (640, 480)
    low = Camera((0.55, -0.85, 0.32), (0.02, 0.0, 0.1))  # below the rim of the cloth, which is drawn translucent: the ball is seen
    views = (("bar-on-cube", 1.0, None, None), ("cube-on-bar", 0.5, None, None), ("bunny-in-bowl", 0.3, None, None),
             ("cloth-on-ball", 0.8, low, ["cloth"]))  # fmt: skip
    for i, (name, time, camera, clear) in enumerate(views):
        sim = scenes.make(name).simulate().run(until=time)
        sheet.paste(draw(from_simulation(sim), "body", size, camera, transparent=clear, edges=True).resize((320, 240)), (i * 320, 0))
    save(sheet.quantize(128), "thesis.png")


def make_quasi_rigid(folder: Path) -> None:
    """The six scenes, looked at from where the pressure is: from below, without the ground, or through the partner."""
    sheet, size = Image.new("RGB", (3 * 400, 2 * 300), "white"), (800, 600)
    nose, corner = Camera((0.36, -0.28, 0.3), (-0.01, 0.0, 0.225)), Camera((2.4, -1.2, 0.1), (0.7, 0.1, 0.45))
    shots = (
        ("ball-on-plane", {"density": 9000.0, "layer": 0.05}, 0.2, (-60, -35), ["slab"]), ("foot-on-ground", {}, 0.3, (-60, -50), None),
        ("bust-kiss", {}, 0.016, nose, ["right"]), ("ball-joint", {}, 0.1, (-60, -20), None),
        ("spinning-ball", {"angle": 0.0}, 0.1, (-60, -50), None), ("head-in-room", {}, 0.264, corner, ["room"]),
    )  # fmt: skip
    for i, (name, values, time, camera, clear) in enumerate(shots):
        run = Run.open(recorded(scenes.make(name, **values).copy_with(duration=time), folder))
        picture = replace(from_run(run, -1), planes=())
        image = draw(picture, "pressure", size, camera=camera, transparent=clear)
        sheet.paste(image.resize((400, 300)), (i % 3 * 400, i // 3 * 300))
    save(sheet.quantize(256), "quasi-rigid.png")


def make_patch(folder: Path) -> None:
    """Pressure on a stepped block under three methods, seen from below; and all corner cases after a tenth of a second."""
    sheet, size = Image.new("RGB", (3 * 400, 300), "white"), (800, 600)
    for k, method in enumerate((surfaces.PATCH, "noniterative", "penalty")):
        sim = scenes.make("stepped-block", contact=method).simulate().run()
        picture = replace(from_simulation(sim), title="patch" if method == surfaces.PATCH else method)
        clear = [body.name for body in sim.scene.bodies if body.name.startswith("step ")]
        image = draw(picture, "pressure", size, camera=(-60, -40), transparent=clear, limits=(0.0, 4e4))
        sheet.paste(image.resize((400, 300)), (k * 400, 0))
    save(sheet.quantize(256), "stepped-block.png")
    sheet = Image.new("RGB", (5 * 240, 3 * 200), "white")
    for k, case in enumerate(corners.CASES):
        sim = scenes.make("corner-cases", case=case, contact=surfaces.PATCH).simulate().run(until=0.1)
        image = draw(replace(from_simulation(sim), title=case, planes=()), "body", (480, 400), camera=(-60, 15))
        sheet.paste(image.resize((240, 200)), (k % 5 * 240, k // 5 * 200))
    save(sheet.quantize(128), "corner-cases.png")


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
    save(Image.open(folder / "view.png").convert("RGB").resize((1024, 576), Image.Resampling.LANCZOS), "view.png")


MAKE = {
    "shapes": make_shapes, "demo": make_demo, "own-mesh": make_own_mesh, "cantilever": make_cantilever, "ground": make_ground,
    "points": make_points,
    "redefinition": make_redefinition,
    "reversal": make_reversal,
    "noniterative": make_noniterative,
    "point-surface": make_point_surface,
    "thesis": make_thesis,
    "quasi-rigid": make_quasi_rigid,
    "patch": make_patch,
    "view": make_view,
}  # fmt: skip

if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MAKE:
        with tempfile.TemporaryDirectory() as temporary:
            MAKE[name](Path(temporary))
