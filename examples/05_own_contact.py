"""A contact method of your own in thirty lines of NumPy: a floor that puts points back onto z = 0."""

import numpy as np

from pliant import Answer, Contacts, Rows, Scene, register_method


class Floor:
    """Skin points that would end the step below z = 0 are pushed back onto it, without friction. Body 0 is the floor."""

    needs = frozenset()  # neither triangles nor tetrahedra: points are enough

    def respond(self, motion, memory):
        # look: where would the points be at the end of the step?
        below = np.flatnonzero((motion.end[:, 2] < 0) & (motion.skin.body > 0))
        if len(below) == 0:
            return Answer(Contacts.none(motion.dt))
        # a contact is a row: +1 for the point, -1 for a point of the floor; the normal goes from the floor to the point
        floor = np.full(len(below), motion.bodies.anchor[0])
        normal = np.tile([0.0, 0.0, 1.0], (len(below), 1))
        rows = Rows.dense(np.stack([below, floor], 1), np.tile([1.0, -1.0], (len(below), 1)), normal, motion.end[below])
        # push: `give` says how far an impulse moves the contact, so this one closes the gap
        gap = motion.end[below, 2]
        impulse = -gap / (motion.dt * motion.give(rows))
        motion.push(rows, impulse[:, None] * normal)
        # say what touched; what a method does not know stays NaN
        contacts = Contacts.unknown(len(below), motion.dt)
        contacts.a[:], contacts.b[:] = motion.skin.body[below], 0
        contacts.normal[:], contacts.impulse[:], contacts.gap[:] = normal, impulse, gap
        return Answer(contacts)


register_method("floor", Floor)

for model, stiff in {"rigid": {}, "fem": {"youngs_modulus": 1e5}, "springs": {"spring_stiffness": 3000.0}}.items():
    scene = Scene(dt=0.002, contact="floor")
    scene.add(name="ground", shape="plane", model="static")
    scene.add(
        name="box",
        shape={"kind": "box", "size": (0.2, 0.2, 0.2), "edge": 0.1},
        model=model,
        position=(0, 0, 0.101),
        material={"mass_damping": 8.0, **stiff},
    )
    sim = scene.simulate().run(until=1.5)
    force = sim.contacts("box", "ground").total_force[2]
    print(f"{model:8s} the floor carries {force:.2f} N of {8 * 9.81:.2f} N, lowest point {1000 * sim.points('box')[:, 2].min():+.3f} mm")
