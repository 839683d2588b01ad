"""A beam held at one end, in static equilibrium under a load at the other: compared with beam theory."""

from pliant import Scene

length, side, youngs_modulus, force = 1.0, 0.1, 1e7, 2.0
inertia, area, shear = side**4 / 12, side**2, youngs_modulus / 2  # of a square section; G = E / 2 at Poisson ratio 0

# Timoshenko: bending F L^3 / (3 E I) and shear F L / (k G A) with k = 5/6 for a rectangle
theory = force * length**3 / (3 * youngs_modulus * inertia) + force * length / (5 / 6 * shear * area)

for element, edge in (("linear", 0.05), ("linear", 0.025), ("quadratic", 0.1), ("quadratic", 0.05)):
    scene = Scene(gravity=(0, 0, 0))
    scene.add(
        name="beam",
        shape={"kind": "box", "size": (length, side, side), "edge": edge},
        element=element,
        material={"youngs_modulus": youngs_modulus, "poisson_ratio": 0.0},
        fixed=[{"side": "-x"}],
        loads=[{"kind": "force", "value": (0, 0, -force), "where": {"side": "+x"}}],
    )
    sim = scene.simulate()
    tip = sim.points("beam")[:, 0].argmax()
    at_rest = sim.points("beam")[tip, 2]
    sim.equilibrium()
    deflection = at_rest - sim.points("beam")[tip, 2]
    print(
        f"{element:9s} edge {edge:.3f} m, {len(sim.state.x):5d} nodes: deflection {1000 * deflection:.4f} mm, "
        f"{100 * (deflection / theory - 1):+.2f} % of theory, held by {sim.reaction('beam')[2]:.3f} N"
    )
print(f"theory: {1000 * theory:.4f} mm")
