"""A foot of flesh and bones stands on a soft pad: what does the sole feel?

    python 12_foot_on_a_pad.py                       a foot and bones made here
    python 12_foot_on_a_pad.py foot.obj bones.stl    scans, in metres and z up; open ones will do
"""

import sys

import numpy as np

from pliant import Scene, Surface, shapes

LENGTH, LOAD = 0.25, 400.0  # [m] of the foot, [N]
EDGE, CELL = 0.01, 0.01  # [m] of elements, and of the sensors of the map


def bones() -> Surface:
    """Shin, heel, ankle, midfoot and five rays of capsules and ellipsoids that overlap; in parts of the length of the foot."""
    made = []
    heel, ankle = ((-0.34, 0, 0.13), (0.11, 0.07, 0.08)), ((-0.24, 0, 0.25), (0.09, 0.06, 0.08))
    middle = (-0.08, -0.02, 0.15), (0.12, 0.085, 0.045)
    for centre, radii in (heel, ankle, middle):
        made.append(shapes.make("ellipsoid", radii=LENGTH * np.array(radii), edge=0.006).surface().moved(LENGTH * np.array(centre)))
    rays = [((-0.25, 0, 0.57), (-0.25, 0, 0.27), 0.055)]
    rays += [((-0.2, 0.01, 0.23), (-0.1, 0.02, 0.17), 0.05), ((-0.3, -0.02, 0.13), (-0.05, -0.06, 0.12), 0.045)]
    toes = ((0.112, 0.41, 0.06), (0.012, 0.40, 0.05), (-0.07, 0.37, 0.045), (-0.142, 0.31, 0.042), (-0.198, 0.24, 0.04))
    for k, (y, x, z) in enumerate(toes):
        knuckle = (x - 0.17, 0.95 * y, 0.075)
        rays += [((-0.02, 0.3 * y - 0.02, 0.14), knuckle, 0.026 if k == 0 else 0.02), (knuckle, (x, y, z), 0.02 if k == 0 else 0.016)]
    for a, b, thick in rays:
        a, b = LENGTH * np.array(a), LENGTH * np.array(b)
        axis = (b - a) / np.linalg.norm(b - a)
        side = np.cross(axis, (0.0, 1.0, 0.0))
        side /= np.linalg.norm(side)
        turn = np.stack([side, np.cross(axis, side), axis], axis=1)
        capsule = shapes.make("capsule", radius=LENGTH * thick, length=float(np.linalg.norm(b - a)), edge=0.4 * LENGTH * thick)
        made.append(capsule.surface().moved(0.5 * (a + b), turn))
    start = np.cumsum([0, *(len(s.points) for s in made)])
    return Surface(np.concatenate([s.points for s in made]), np.concatenate([s.faces + n for s, n in zip(made, start, strict=False)]))


if len(sys.argv) > 2:
    foot, bone = ({"file": name} for name in sys.argv[1:3])
else:
    foot, bone = {"mesh": shapes.make("foot", length=LENGTH, edge=0.008).surface()}, bones()

scene = Scene(name="foot", dt=0.005, duration=0.3, contact="noniterative")
flesh = {"youngs_modulus": 3e5, "poisson_ratio": 0.4, "density": 1100.0, "mass_damping": 5.0, "stiffness_damping": 0.01}
inner = {"shape": bone, "material": {"youngs_modulus": 1e7, "poisson_ratio": 0.3, "density": 1800.0}}
down = {"times": [0.0, 0.3], "values": [[0, 0, 0], [0, 0, -0.036]]}
leg = {"where": {"z": [0.145, 1.0]}, "shift": down}  # the foot is tilted a little, so that its ball touches first
foot |= {"fill": "lattice", "edge": EDGE}
tilted = {"rotation": (0, 3, 0), "position": (0, 0, 0.0062)}
scene.add(name="foot", shape=foot, material=flesh, regions=[inner], motions=[leg], friction=0.6, **tilted)
foam = {"youngs_modulus": 4e5, "poisson_ratio": 0.2, "density": 300.0, "mass_damping": 5.0, "stiffness_damping": 0.01}
pad = {"kind": "box", "size": [0.3, 0.14, 0.03], "edge": EDGE}
scene.add(name="pad", shape=pad, position=(0, 0, -0.0151), material=foam, fixed=[{"side": "-z"}], friction=0.6)
sim = scene.simulate()
print(*sim.notes, sep="\n")
while sim.contacts("foot", "pad").total_force[2] < LOAD and sim.time < scene.duration:
    sim.step()  # the leg is pushed down until the pad carries the load

contacts = sim.contacts("foot", "pad")
print(f"the pad carries {contacts.total_force[2]:.0f} N after {1000 * 0.12 * sim.time:.1f} mm")

# The map of a sensor mat: force in each cell over its area.
span = np.array([[-0.14, 0.14], [-0.065, 0.065]])
grid = np.round(np.diff(span, axis=1)[:, 0] / CELL).astype(int)
push, _, _ = np.histogram2d(contacts.point[:, 0], contacts.point[:, 1], bins=grid, range=span, weights=contacts.normal_force)
pressure = push / CELL**2
touched = (pressure > 1e3).sum() * CELL**2
print(f"pressure in cells of {1000 * CELL:.0f} mm: peak {pressure.max() / 1000:.0f} kPa, {1e4 * touched:.0f} cm2 touched")

# The picture: the foot seen through its skin, and the map.
import matplotlib.pyplot as plt  # noqa: E402
import pyvista  # noqa: E402

from pliant.bodies.parts import placing  # noqa: E402
from pliant.geometry.embed import embed  # noqa: E402
from pliant.geometry.mesh import TetMesh  # noqa: E402
from pliant.geometry.shapes import resolve  # noqa: E402
from pliant.look.draw import hidden_plotter  # noqa: E402

model, nodes = sim.world.model, sim.nodes("foot")
mesh = TetMesh(model.nodes.rest[nodes], model.groups[0].nodes[model.group_body[0] == 0])
inside = resolve(bone, solid=False).surface()
turned, shift = placing(scene.bodies[0])
ride = embed(inside.points @ turned.T + shift, mesh)
bent = np.einsum("pk,pki->pi", ride.weights, sim.state.x[nodes][mesh.tets[ride.tet]])


def drawn(points: np.ndarray, faces: np.ndarray) -> pyvista.PolyData:
    return pyvista.PolyData(points, np.hstack([np.full((len(faces), 1), 3), faces]).ravel())


plotter = hidden_plotter((1500, 1000))
plotter.set_background("white")
for name, colour, opacity in (("foot", "#e8b196", 0.45), ("pad", "#7f95ad", 1.0)):
    shown = drawn(sim.points(name), sim.faces(name))
    plotter.add_mesh(shown, color=colour, opacity=opacity, smooth_shading=True, split_sharp_edges=True, specular=0.2)
plotter.add_mesh(drawn(bent, inside.faces), color="#f4efe2", smooth_shading=True, specular=0.3)
for place in ((1, 1, 2), (-1, 2, 1)):
    plotter.add_light(pyvista.Light(position=place, focal_point=(0, 0, 0), intensity=0.75, light_type="scene light"))
plotter.enable_depth_peeling(8)
plotter.camera_position = [(0.33, 0.42, 0.26), (0.01, 0.0, 0.035), (0, 0, 1)]
plotter.camera.zoom(1.25)
image = plotter.screenshot(return_img=True)
plotter.close()

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.2), gridspec_kw={"width_ratios": [1.25, 1.35]})
left.imshow(image)
left.axis("off")
left.set_title(f"Flesh and bones on foam, {LOAD:.0f} N")
shown = right.imshow(pressure.T / 1000, origin="lower", extent=(1000 * span).ravel(), cmap="magma", interpolation="bicubic", vmin=0)
right.set_xlabel("x [mm]")
right.set_ylabel("y [mm]")
right.set_title("What the sole feels, seen from above")
figure.colorbar(shown, ax=right, label="pressure [kPa]", shrink=0.6)
figure.tight_layout()
figure.savefig("foot_on_a_pad.png", dpi=110)
print("wrote foot_on_a_pad.png")
