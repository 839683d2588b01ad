"""A study through a real SLURM of one node, brought up for the test; a worker is cancelled in the middle."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pliant
from pliant.studies.ledger import read_rows

pytest.importorskip("dask_jobqueue")

SRC = Path(pliant.__file__).parents[1]
TOOLS = ("slurmctld", "slurmd", "munged", "sbatch", "scancel", "squeue")
CONF = """
ClusterName=test
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=short Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
SLOPES = Path(__file__).parents[2] / "examples" / "studies" / "slopes.toml"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def slurm(tmp_path):
    """The environment in which sbatch finds a cluster of this machine alone."""
    if os.geteuid() != 0:
        pytest.skip("SLURM on one node is brought up by root only")
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        pytest.skip(f"SLURM is not installed: there is no {lacking[0]} (Debian: slurm-wlm, munge)")
    host, folder = socket.gethostname().partition(".")[0], tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    tmp_path.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "slurm.conf").write_text(CONF.format(host=host, folder=folder, controller=free_port(), daemon=free_port()))
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf"), "PYTHONPATH": str(SRC)}
    log = (folder / "log").open("w")
    begin = lambda *command: subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    socket_file = f"--socket={folder}/munge.socket"
    running = [begin("munged", "--foreground", "--force", socket_file, f"--key-file={key}", f"--pid-file={folder}/munge.pid",
                     f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed")]  # fmt: skip
    time.sleep(1.0)
    running += [begin("slurmctld", "-D"), begin("slurmd", "-D", "-N", host)]
    try:
        for _ in range(60):
            seen = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True).stdout.strip()
            if seen == "idle":
                break
            time.sleep(0.5)
        else:
            pytest.fail(f"SLURM did not come up: {seen}\n{(folder / 'log').read_text()[-3000:]}")
        yield environment
    finally:
        subprocess.run(["scancel", "--user=root"], env=environment, capture_output=True)
        time.sleep(1.0)
        for process in reversed(running):
            process.terminate()
            process.wait(20)


@pytest.mark.slow
def test_a_study_through_slurm_with_a_worker_cancelled(slurm, tmp_path):
    """The example with a shipped scene, with a second in each case in which it can be disturbed."""
    (tmp_path / "waits.py").write_text("import time\ndef waits(run):\n    time.sleep(1.0)\n    return run.parameters['angle']\n")
    (tmp_path / "slopes.toml").write_text(SLOPES.read_text() + 'mine = "waits.py:waits"\n')
    options = "queue=short,memory=1GB,walltime=00:20:00"
    command = [sys.executable, "-m", "pliant", "study", "slopes.toml", "--allow-code", "--out", "out", "--workers", "2", "--slurm", options]
    master = subprocess.Popen(command, cwd=tmp_path, env=slurm, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    rows, cancelled = tmp_path / "out" / "rows.jsonl", ""
    deadline = time.monotonic() + 300.0
    while master.poll() is None and time.monotonic() < deadline:
        if not cancelled and len(read_rows(rows)) >= 2:
            jobs = subprocess.run(["squeue", "-h", "-t", "RUNNING", "-o", "%i"], env=slurm, capture_output=True, text=True).stdout.split()
            cancelled = jobs[0]
            subprocess.run(["scancel", cancelled], env=slurm, check=True)
        time.sleep(0.2)
    if master.poll() is None:
        master.kill()
    said = master.communicate(timeout=60)[0]
    assert master.returncode == 0 and cancelled, said
    found = read_rows(rows)
    assert len({row.key for row in found}) == len(found) == 8 and {row.status for row in found} == {"finished"}
    subprocess.run([*command[:command.index("--out")], "--out", "alone", "--workers", "0"], cwd=tmp_path, env=slurm, check=True, capture_output=True)
    alone = {row.key: row.measures for row in read_rows(tmp_path / "alone" / "rows.jsonl")}
    assert {row.key: row.measures for row in found} == alone
