"""Parts of pliant against packages that do only these, each in its own interpreter on the same inputs: python components.py PACKAGE FILE.

ipctk: vertex-face queries of continuous collision, one call each (its Python names take no batches of unrelated ones), random and as fast
as their size. coal: all crossing pairs of triangles of two meshes. tamaas has a script of its own, benchmarks/hertz_grid.py.
"""

import json
import sys
import time
from importlib.metadata import version

import numpy as np

CALLS = 20_000  # of ipctk


def ipctk(data: dict[str, np.ndarray]) -> dict[str, float]:
    import ipctk

    start, end = data["start"][:CALLS], data["end"][:CALLS]
    test, hits, began = ipctk.AdditiveCCD().point_triangle_ccd, 0, time.process_time()
    for a, b in zip(start, end, strict=True):
        hits += bool(test(*a, *b)[0])
    return {"seconds": (time.process_time() - began) / len(start), "found": hits / len(start)}


def coal(data: dict[str, np.ndarray]) -> dict[str, float]:
    import coal

    models = []
    for name in ("one", "other"):
        model = coal.BVHModelOBBRSS()
        model.beginModel(len(data["faces"]), len(data[name]))
        model.addVertices(data[name])
        model.addTriangles(data["faces"])
        model.endModel()
        models.append(model)
    request, best, found = coal.CollisionRequest(), np.inf, 0
    request.num_max_contacts, request.enable_contact = 10_000_000, False
    for _ in range(3):
        result, began = coal.CollisionResult(), time.process_time()
        coal.collide(models[0], coal.Transform3s(), models[1], coal.Transform3s(), request, result)
        best, found = min(best, time.process_time() - began), result.numContacts()
    return {"seconds": best, "found": found}


def pliant(data: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    from pliant.detect import vertex_face_toi
    from pliant.detect.tree import Tree
    from pliant.detect.triangle_overlap import intersecting

    count = len(data["faces"])
    points, faces = np.concatenate([data["one"], data["other"]]), np.concatenate([data["faces"], data["faces"] + len(data["one"])])
    tree = Tree.build(points, faces, np.array([0, count, 2 * count]))
    both = np.array([[0, 1]])
    jobs = {
        "ipctk": (lambda: vertex_face_toi(data["start"], data["end"]), lambda out: float(np.mean(np.isfinite(out))), len(data["start"])),
        "coal": (lambda: intersecting(tree, points, both), len, 1),
    }
    out = {}
    for name, (work, found, per) in jobs.items():
        work()  # compiled
        best = np.inf
        for _ in range(3):
            began = time.process_time()
            result = work()
            best = min(best, time.process_time() - began)
        out[name] = {"seconds": best / per, "found": found(result)}
    return out


if __name__ == "__main__":
    package, path = sys.argv[1:]
    print(json.dumps({"package": package, "version": version(package)} | {"result": globals()[package](dict(np.load(path)))}))
