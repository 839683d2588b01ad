"""How readily contacts yield: `give`, the absolute row sums of the Delassus matrix (theory/noniterative 5.4, 5.5, theory/elements 3.2).

Of nodes q_i w_i and the like, summed over a row; of a rigid body, whose contacts all feel each other, N / M + rho_c sum rho. The part of
implicit bodies is found by solves (integrate/implicit_euler.py).
"""

from __future__ import annotations

import math

from pliant.geometry.quaternions import inverse_inertia_times, load4
from pliant.kernels import cross, dot, kernel, load, sub


@kernel
def explicit_give(  # type: ignore[no-untyped-def]
    row_start, row_point, row_weight, direction, at, alone, start, node, weight, frame,
    node_mobility, position, rotation, inverse, inverse_inertia, node_load, frame_count, frame_turn, out,
):  # fmt: skip
    """Absolute row sums of the Delassus matrix, D_r = sum_s |W_rs| (an upper bound of it), explicit nodes and frames.

    Nodes: sum |w_r| m^-1 q with q the total |weight| all rows put on the node (theory/noniterative 5.4). Frames: N/M + rho_r sum rho
    with rho = sqrt((r x u) J^-1 (r x u)) (theory/elements 3.2, theory/noniterative 5.5). The three scratch arrays come in zeroed.
    """
    rows = len(at)
    for sweep in range(2):
        for r in range(rows):
            u, total = load(direction, r), 0.0
            for k in range(row_start[r], row_start[r + 1]):
                p, w = row_point[k], abs(row_weight[k])
                f, n = frame[p], alone[p]
                if n >= 0:
                    if sweep == 0:
                        node_load[n] += w
                    else:
                        total += w * node_load[n] * node_mobility[n]
                elif f >= 0:
                    if inverse[f] == 0.0:
                        continue
                    turn = cross(sub(load(at, r), load(position, f)), u)
                    j = load(inverse_inertia, f)
                    rho = w * math.sqrt(dot(turn, inverse_inertia_times(load4(rotation, f), j, turn)))
                    if sweep == 0:
                        frame_count[f] += w
                        frame_turn[f] += rho
                    else:
                        total += w * frame_count[f] * inverse[f] + rho * frame_turn[f]
                else:
                    for m in range(start[p], start[p + 1]):
                        n = node[m]
                        share = w * abs(weight[m])
                        if sweep == 0:
                            node_load[n] += share
                        else:
                            total += share * node_load[n] * node_mobility[n]
            if sweep == 1:
                out[r] = total
