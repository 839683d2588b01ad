"""Drake: corotated tetrahedra and boxes, SAP."""

import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from peer_scenes import DENSITY, FRICTION, GRAVITY, POISSON, YOUNG, Task, drive
from pydrake.geometry import AddContactMaterial, AddRigidHydroelasticProperties, Box, GeometryInstance, Mesh, ProximityProperties
from pydrake.math import RigidTransform
from pydrake.multibody.fem import DeformableBodyConfig
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
from pydrake.multibody.tree import SpatialInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

DT = 0.01


def _vtk(scene: Task) -> str:
    path = Path(tempfile.mkdtemp()) / "block.vtk"
    lines = ["# vtk DataFile Version 3.0", "block", "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(scene.points)} double"]
    lines += [" ".join(f"{x:.12g}" for x in p) for p in scene.points] + ["", f"CELLS {len(scene.tets)} {5 * len(scene.tets)}"]
    lines += [f"4 {' '.join(map(str, t))}" for t in scene.tets] + ["", f"CELL_TYPES {len(scene.tets)}"] + ["10"] * len(scene.tets)
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run(scene: Task, budget: float) -> None:
    if scene.ball:
        raise SystemExit("has no cloth")
    dt = 0.002 if scene.rigid else DT
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlant(MultibodyPlantConfig(time_step=dt, discrete_contact_approximation="lagged"), builder)
    soft = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(FRICTION, FRICTION), properties=soft)
    hard = ProximityProperties(soft)
    AddRigidHydroelasticProperties(resolution_hint=1.0, properties=hard)
    for number, (centre, half) in enumerate([((0.0, 0.0, -0.5), (2.0, 2.0, 0.5)), *scene.walls]):
        size = 2 * np.array(half)
        plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(list(centre)), Box(*size), f"still{number}", hard)
    rigid, blocks = [], []
    if scene.rigid:
        for number in range(len(scene.places)):
            inertia = SpatialInertia.SolidBoxWithDensity(DENSITY, scene.size, scene.size, scene.size)
            rigid.append(plant.AddRigidBody(f"box{number}", inertia))
            plant.RegisterCollisionGeometry(rigid[-1], RigidTransform(), Box(*[scene.size] * 3), f"box{number}", soft)
    else:
        deformable, config, path = plant.mutable_deformable_model(), DeformableBodyConfig(), _vtk(scene)
        config.set_youngs_modulus(YOUNG)
        config.set_poissons_ratio(POISSON)
        config.set_mass_density(DENSITY)
        config.set_stiffness_damping_coefficient(0.002)
        for number, place in enumerate(scene.places):
            shape = GeometryInstance(RigidTransform(place), Mesh(path, 1.0), f"block{number}")
            shape.set_proximity_properties(ProximityProperties(soft))
            blocks.append(deformable.RegisterDeformableBody(shape, config, 1.0))
    plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_mutable_context())
    for body, place in zip(rigid, scene.places, strict=False):
        plant.SetFreeBodyPose(context, body, RigidTransform(place))
    simulator.Initialize()
    time = [0.0]

    def step() -> None:
        time[0] += dt
        simulator.AdvanceTo(time[0])

    def shapes() -> object:
        if scene.rigid:
            poses = [plant.EvalBodyPoseInWorld(context, body) for body in rigid]
            return np.array([p.translation() for p in poses]), np.array([p.rotation().matrix() for p in poses])
        return np.array([deformable.GetPositions(context, block).T for block in blocks])

    drive("Drake", version("drake"), scene, dt, step, shapes, budget, settings="SAP, lagged")
