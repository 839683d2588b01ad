"""Newton on Warp's CPU: vertex block descent of tetrahedra and triangles, XPBD of boxes."""

import newton
import numpy as np
import warp as wp
from peer_scenes import DENSITY, FRICTION, GRAVITY, POISSON, YOUNG, Task, drive

DT = 1 / 600


def run(scene: Task, budget: float) -> None:
    wp.config.quiet = True
    wp.init()
    wp.set_device("cpu")
    builder = newton.ModelBuilder(gravity=wp.vec3(0.0, 0.0, -GRAVITY))
    builder.default_shape_cfg.mu, builder.default_shape_cfg.density = FRICTION, DENSITY
    still = lambda p: wp.transform(wp.vec3(*map(float, p)), wp.quat_identity())
    builder.add_ground_plane(height=-1.0 if scene.ball else 0.0)
    for centre, half in scene.walls:
        builder.add_shape_box(-1, xform=still(centre), hx=half[0], hy=half[1], hz=half[2])
    if scene.ball:
        builder.add_shape_sphere(-1, xform=still((0, 0, 0)), radius=scene.ball)
    mu, lam = YOUNG / (2 * (1 + POISSON)), YOUNG * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    radius = 0.1 * scene.size / 5
    vectors = [wp.vec3(*map(float, p)) for p in scene.points]
    given = dict(rot=wp.quat_identity(), scale=1.0, vel=wp.vec3(0.0, 0.0, 0.0), vertices=vectors, particle_radius=radius)
    if scene.rigid:
        for place in scene.places:
            body = builder.add_body(xform=still(place))
            builder.add_shape_box(body, hx=scene.size / 2, hy=scene.size / 2, hz=scene.size / 2)
    elif scene.ball:
        builder.add_cloth_mesh(
            pos=wp.vec3(0.0, 0.0, 0.0), indices=scene.faces.ravel().tolist(), density=0.2, tri_ke=1e3, tri_ka=1e3, tri_kd=1e-2,
            edge_ke=1e-2, edge_kd=1e-2, **given,
        )  # fmt: skip
    else:
        for place in scene.places:
            builder.add_soft_mesh(
                pos=wp.vec3(*map(float, place)), indices=scene.tets.ravel().tolist(), density=DENSITY, k_mu=mu, k_lambda=lam, k_damp=10.0,
                **given,
            )  # fmt: skip
    if not scene.rigid:
        builder.color()
    model = builder.finalize()
    if scene.rigid:
        solver = newton.solvers.SolverXPBD(model, iterations=15)
    else:
        model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu = 5e4, 0.5, FRICTION
        solver = newton.solvers.SolverVBD(
            model, iterations=15, particle_enable_self_contact=len(scene.places) > 1, particle_self_contact_margin=radius,
            particle_self_contact_gap=radius, particle_enable_tile_solve=False,
        )  # fmt: skip
    states, control, pipeline = [model.state(), model.state()], model.control(), newton.CollisionPipeline(model)
    contacts = pipeline.contacts()

    def step() -> None:
        states[0].clear_forces()
        pipeline.collide(states[0], contacts)
        solver.step(states[0], states[1], control, contacts, DT)
        states.reverse()

    def shapes() -> object:
        if scene.rigid:
            pose = states[0].body_q.numpy()
            x, y, z, w = pose[:, 3:].T
            turned = np.array([
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]).transpose(2, 0, 1)  # fmt: skip
            return pose[:, :3], turned
        return states[0].particle_q.numpy().reshape(len(scene.places), -1, 3)

    drive("Newton", newton.__version__, scene, DT, step, shapes, budget, settings="XPBD, 15" if scene.rigid else "VBD, 15")
