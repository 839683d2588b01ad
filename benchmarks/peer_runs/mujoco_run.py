"""MuJoCo: flex of tetrahedra or triangles, and boxes."""

import mujoco
import numpy as np
from peer_scenes import DENSITY, FRICTION, GRAVITY, POISSON, YOUNG, Task, drive

RADIUS = 0.001


def _flex(scene: Task, number: int, place: np.ndarray) -> str:
    points = " ".join(f"{x:.9g}" for x in (scene.points + place).ravel())
    elements = " ".join(map(str, (scene.tets if len(scene.tets) else scene.faces).ravel()))
    mass = scene.weight / GRAVITY / len(scene.places)
    young, more = (YOUNG, "") if len(scene.tets) else (1e5, ' thickness="0.002" elastic2d="both"')
    return (
        f'<flexcomp name="b{number}" type="direct" dim="{3 if len(scene.tets) else 2}" mass="{mass}" radius="{RADIUS}" '
        f'point="{points}" element="{elements}"><contact condim="3" friction="{FRICTION}" selfcollide="none" solref="0.004 1"/>'
        f'<edge damping="0"/><elasticity young="{young}" poisson="{POISSON}" damping="0.002"{more}/></flexcomp>'
    )


def run(scene: Task, budget: float) -> None:
    dt = 0.002
    wall = "".join(
        f'<geom type="box" pos="{" ".join(map(str, c))}" size="{" ".join(map(str, h))}" friction="{FRICTION}"/>' for c, h in scene.walls
    )
    wall += f'<geom type="sphere" size="{scene.ball}" friction="{FRICTION}"/>' if scene.ball else ""
    if scene.rigid:
        half = " ".join([str(scene.size / 2)] * 3)
        bodies = "".join(
            f'<body pos="{" ".join(map(str, p))}"><freejoint/>'
            f'<geom type="box" size="{half}" density="{DENSITY}" friction="{FRICTION}"/></body>'
            for p in scene.places
        )
    else:
        bodies = "".join(_flex(scene, k, place) for k, place in enumerate(scene.places))
    solver, more = ("Newton", "") if scene.rigid else ("CG", 'integrator="discrete" ')  # that of soft bodies
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><size memory="2G"/><option {more}timestep="{dt}" solver="{solver}" iterations="50" tolerance="1e-6" '
        f'gravity="0 0 -{GRAVITY}"/>'
        f'<worldbody><geom name="ground" type="plane" size="5 5 .1" pos="0 0 {-1 if scene.ball else 0}" friction="{FRICTION}"/>'
        f"{wall}{bodies}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)

    def force() -> float:
        total, one = 0.0, np.zeros(6)
        for k in range(data.ncon):
            contact = data.contact[k]
            if 0 in contact.geom:
                mujoco.mj_contactForce(model, data, k, one)
                total += float(np.abs(contact.frame.reshape(3, 3).T @ one[:3])[2])
        return total

    def shapes() -> object:
        if scene.rigid:
            return data.xpos[1:].copy(), data.xmat[1:].reshape(-1, 3, 3).copy()
        return data.flexvert_xpos.reshape(len(scene.places), -1, 3).copy()

    def step() -> None:
        mujoco.mj_step(model, data)
        if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            raise ArithmeticError("diverged")

    drive("MuJoCo", mujoco.__version__, scene, dt, step, shapes, budget, None if scene.walls else force, f"{solver}, radius 1 mm")
