"""A foot of flesh and bones stands on a soft pad with a load on it: what does the sole feel?

    python 12_foot_on_a_pad.py                       a foot and bones made here
    python 12_foot_on_a_pad.py foot.obj bones.stl    scans, in metres and z up; open ones will do
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pyvista
from scipy.ndimage import gaussian_filter, map_coordinates

from pliant import Scene, Surface, shapes
from pliant.geometry.embed import embed
from pliant.geometry.mesh import TetMesh
from pliant.geometry.shapes import resolve
from pliant.look.draw import hidden_plotter

LENGTH, LOAD = 0.25, 350.0  # [m] of the foot, [N] that it stands with: half of a person
EDGE, CELL = 0.01, 0.0025  # [m] of elements, and of the pixels of the map


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


scene = Scene(name="foot", dt=0.01, duration=0.45)
flesh = {"youngs_modulus": 6e5, "poisson_ratio": 0.4, "density": 1100.0, "mass_damping": 5.0, "stiffness_damping": 0.01}
inner = {"shape": bone, "material": {"youngs_modulus": 1e7, "poisson_ratio": 0.3, "density": 1800.0}}
load = {"value": {"times": [0.0, 0.25], "values": [[0, 0, 0], [0, 0, -LOAD]]}}  # grows and stays; bone, which is denser, takes more of it
foot |= {"fill": "lattice", "edge": EDGE}
scene.add(name="foot", shape=foot, material=flesh, regions=[inner], loads=[load], friction=0.6)
foam = {"youngs_modulus": 8e5, "poisson_ratio": 0.2, "density": 300.0, "mass_damping": 5.0, "stiffness_damping": 0.01}
pad = {"kind": "box", "size": [0.3, 0.14, 0.03], "edge": EDGE}
scene.add(name="pad", shape=pad, position=(0, 0, -0.0151), material=foam, fixed=[{"side": "-z"}], friction=0.6)
sim = scene.simulate()
print(*sim.notes, sep="\n")
sim.run()

contacts = sim.contacts("foot", "pad")
centre = contacts.normal_force @ contacts.point / contacts.normal_force.sum()
print(f"the pad carries {contacts.total_force[2]:.1f} N: {LOAD:.0f} N of load and {9.81 * sim.mass('foot'):.1f} N of weight")

# The map of a sensor mat: force over area, blurred by the width of an element, which is as fine as forces are known.
span = np.array([[-0.15, 0.15], [-0.07, 0.07]])
grid = np.round(np.diff(span, axis=1)[:, 0] / CELL).astype(int)
force, *edges = np.histogram2d(contacts.point[:, 0], contacts.point[:, 1], bins=grid, range=span, weights=contacts.normal_force)
pressure = gaussian_filter(force, 0.8 * EDGE / CELL) / CELL**2 / 1000.0
print(f"peak {pressure.max():.0f} kPa over the width of an element, {1e4 * np.nansum(contacts.area):.0f} cm2 touched")
print(f"centre of pressure {1000 * (centre[0] + LENGTH / 2):.0f} mm from the heel")

# The picture: the foot seen through its skin, what the pad feels below, and the map. Bones ride in the elements.
model, nodes = sim.world.model, sim.nodes("foot")
mesh = TetMesh(model.nodes.rest[nodes], model.groups[0].nodes[model.group_body[0] == 0])
inside = resolve(bone, solid=False).surface()
ride = embed(inside.points, mesh)
bent = np.einsum("pk,pki->pi", ride.weights, sim.state.x[nodes][mesh.tets[ride.tet]])


def drawn(points: np.ndarray, faces: np.ndarray) -> pyvista.PolyData:
    return pyvista.PolyData(points, np.hstack([np.full((len(faces), 1), 3), faces]).ravel())


foam_block = drawn(sim.points("pad"), sim.faces("pad")).subdivide(2)
pixel = [(foam_block.points[:, k] - edges[k][0]) / CELL - 0.5 for k in range(2)]
foam_block["pressure"] = np.where(foam_block.points[:, 2] > -0.02, map_coordinates(pressure, pixel, order=1), 0.0)  # of its upper side
plotter = hidden_plotter((1500, 1050))
plotter.set_background("white")
plotter.add_mesh(drawn(sim.points("foot"), sim.faces("foot")), color="#e8b196", opacity=0.3, smooth_shading=True, specular=0.25)
plotter.add_mesh(drawn(bent, inside.faces), color="#f4efe2", smooth_shading=True, specular=0.3)
told = {"scalars": "pressure", "cmap": "turbo", "clim": (5.0, pressure.max()), "below_color": "#8fafd3", "show_scalar_bar": False}
plotter.add_mesh(foam_block, **told)
for place in ((1, 1, 2), (-1, 2, 1)):
    plotter.add_light(pyvista.Light(position=place, focal_point=(0, 0, 0), intensity=0.75, light_type="scene light"))
plotter.enable_depth_peeling(8)
plotter.camera_position = [(0.32, 0.43, 0.25), (0.0, 0.0, 0.03), (0, 0, 1)]
plotter.camera.zoom(1.05)
image = plotter.screenshot(return_img=True)
plotter.close()

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.2), gridspec_kw={"width_ratios": [1.75, 1]}, layout="constrained")
left.imshow(image)
left.axis("off")
left.set_title(f"Flesh and bones on foam, {LOAD:.0f} N")
x, y, _ = 1000.0 * sim.points("foot").T
right.tripcolor(-y, x, sim.faces("foot"), np.zeros(len(x)), cmap="Greys", vmin=-1, vmax=6)
at = [1000.0 * 0.5 * (edge[1:] + edge[:-1]) for edge in edges]
shown = right.contourf(-at[1], at[0], pressure, levels=np.linspace(5.0, pressure.max(), 20), cmap="turbo")
right.plot(-1000 * centre[1], 1000 * centre[0], "w+", markersize=14, markeredgewidth=2)
right.set_aspect("equal")
right.axis("off")
right.set_title("What the sole feels")
figure.colorbar(shown, ax=right, label="pressure [kPa]", shrink=0.7, format="%.0f")
figure.savefig("foot_on_a_pad.png", dpi=110)
print("wrote foot_on_a_pad.png")
