"""What listens, and to whom; what crosses a network, and how."""

from __future__ import annotations

import ast
import contextlib
import ipaddress
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from conftest import ROOT
from penstock.sweeps import store

psutil = pytest.importorskip("psutil")
distributed = pytest.importorskip("distributed", reason="needs penstock[dask]")

pytestmark = pytest.mark.filterwarnings("default")  # those of Dask are not ours to mend

#: Nothing here depends on how fast the machine is: this only ends a test that hangs.
FOREVER_S = 120


def listening(process: Any) -> list[tuple[str, int]]:
    """Where a process and its children listen."""
    found = []
    for each in (process, *process.children(recursive=True)):
        found += [tuple(at.laddr) for at in each.net_connections("inet") if at.status == psutil.CONN_LISTEN]
    return found


def elsewhere(process: Any) -> list[tuple[str, int]]:
    """Those of them that another machine can reach."""
    return [at for at in listening(process) if not ipaddress.ip_address(at[0]).is_loopback]


def test_a_sweep_on_threads_and_an_evaluation_listen_nowhere(small: Path, tmp_path: Path) -> None:
    found: list[Any] = []

    def look(_: Any) -> None:
        found.append(listening(psutil.Process()))

    ps.sweep(small, seeds=3, out=tmp_path / "sweep", progress=look)
    ps.evaluate(["red"], quick=True, seeds=1, only=["mild"], out=tmp_path / "evaluate", progress=look)
    assert found
    assert not any(found)


def test_a_local_cluster_is_for_this_machine_alone_dashboards_included(small: Path, tmp_path: Path) -> None:
    """As the tests and benchmarks start one: with its dashboards, and while it works."""
    found: list[Any] = []
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
    ) as cluster:
        me = psutil.Process()

        def look(_: Any) -> None:
            found.append((len(listening(me)), elsewhere(me)))

        ps.sweep(small, seeds=30, out=tmp_path / "out", scheduler=cluster.scheduler_address, progress=look)
    assert max(sockets for sockets, _ in found) >= 4  # the scheduler, its dashboard, the workers
    assert not [at for _, others in found for at in others]


#: What opens a socket for others, by the last part of its name; a test of packets' own devices is none.
SERVERS = {"LocalCluster", "ThreadingHTTPServer", "HTTPServer", "TCPServer", "KernelManager", "create_server"}
#: The programs that open some.
DASK = "distributed.cli" + ".dask_"


def servers(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in SERVERS or (name == "bind" and node.args and isinstance(node.args[0], ast.Tuple)):
                yield node


#: They bind to a device, in a namespace of the test's own.
NAMESPACED = {"tests/helpers/mecn_router.py"}


def test_whatever_this_project_starts_names_the_loopback_address() -> None:
    found, wrong = 0, []
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines():
        text = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).exists() else ""
        for call in servers(ast.parse(text)) if name not in NAMESPACED else ():
            found += 1
            if "127.0.0.1" not in ast.unparse(call):
                wrong.append(f"{name}:{call.lineno}")
            if "LocalCluster" in ast.unparse(call.func) and "dashboard_address" not in ast.unparse(call):
                wrong.append(f"{name}:{call.lineno}: the dashboard listens everywhere")
        body = ast.parse(text).body
        classes = [each for each in body if isinstance(each, ast.ClassDef)]
        for node in (*body, *(method for each in classes for method in each.body)):
            if isinstance(node, ast.FunctionDef) and DASK in (said := ast.unparse(node)):
                found += 1
                if "127.0.0.1" not in said:
                    wrong.append(f"{name}:{node.lineno}")
    assert found > 3
    assert wrong == []


# ------------------------------------------------------------------------- TLS


def wait(until: Callable[[], Any]) -> None:
    deadline = time.monotonic() + FOREVER_S
    while not until():
        assert time.monotonic() < deadline, "nothing came"
        time.sleep(0.05)


def certificate(folder: Path, name: str) -> tuple[str, str]:
    """A certificate that vouches for itself, and its key."""
    cert, key = folder / f"{name}.pem", folder / f"{name}-key.pem"
    line = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    line += ["-addext", "keyUsage=critical,digitalSignature,keyCertSign", "-out", str(cert), "-keyout", str(key)]
    subprocess.run(line, check=True, capture_output=True)
    return str(cert), str(key)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path, list[Any]]]:
    """A scheduler and a worker that speak TLS alone: its address, the folder of the certificates, the processes."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = certificate(folder, "cluster")
    tls = ["--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key]
    environment = {**os.environ, "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
    processes: list[subprocess.Popen[bytes]] = []

    def start(program: str, *more: str) -> None:
        line = [sys.executable, "-m", f"distributed.cli.dask_{program}", *more, *tls]
        with (folder / f"{program}.log").open("w") as log:
            processes.append(subprocess.Popen(line, cwd=folder, stdout=log, stderr=log, env=environment))

    file = folder / "scheduler.json"
    try:
        dashboard = ["--dashboard-address", "127.0.0.1:0"]
        address = ["--protocol", "tls", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        start("scheduler", *address, *dashboard)
        wait(lambda: file.exists() and file.read_text().endswith("}"))
        at = json.loads(file.read_text())["address"]
        start("worker", at, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", *dashboard)
        yield at, folder, processes
    finally:
        for each in processes[::-1]:
            each.send_signal(signal.SIGTERM)
        for each in processes:
            try:  # a worker of Dask may wait long for a scheduler that is gone
                each.wait(5)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


def swept(small: Path, out: Path, address: str, **configured: str) -> subprocess.CompletedProcess[str]:
    """`penstock sweep` with what the environment tells Dask."""
    told = {f"DASK_DISTRIBUTED__COMM__TLS__{name.upper()}": value for name, value in configured.items()}
    environment = {**os.environ, **told, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
    line = [sys.executable, "-m", "penstock", "sweep", str(small), "--seeds", "3", "--no-warm-up-check"]
    line += ["--out", str(out), "--scheduler", address]
    return subprocess.run(line, capture_output=True, text=True, env=environment, timeout=FOREVER_S)


def test_a_sweep_over_tls_is_that_of_threads(sealed: tuple[str, Path, list[Any]], small: Path, tmp_path: Path) -> None:
    address, folder, processes = sealed
    assert address.startswith("tls://127.0.0.1:")
    cert, key = str(folder / "cluster.pem"), str(folder / "cluster-key.pem")
    done = swept(small, tmp_path / "tls", address, ca_file=cert, client__cert=cert, client__key=key)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(": 3 new, 0 kept\n")
    for each in processes:
        assert listening(psutil.Process(each.pid))
        assert elsewhere(psutil.Process(each.pid)) == []
    ps.sweep(small, seeds=3, out=tmp_path / "threads")
    ours, theirs = (store.read(tmp_path / name).sort_by("key") for name in ("threads", "tls"))
    assert ours.equals(theirs)


def test_a_client_with_its_own_certificates_sweeps_from_python(
    sealed: tuple[str, Path, list[Any]], small: Path, tmp_path: Path
) -> None:
    address, folder, _ = sealed
    cert, key = str(folder / "cluster.pem"), str(folder / "cluster-key.pem")
    security = distributed.Security(tls_ca_file=cert, tls_client_cert=cert, tls_client_key=key, require_encryption=True)
    with distributed.Client(address, security=security) as client:
        assert ps.sweep(small, seeds=2, out=tmp_path / "out", scheduler=client).ran == 2


def test_without_certificates_or_with_another_nothing_runs(
    sealed: tuple[str, Path, list[Any]], small: Path, tmp_path: Path
) -> None:
    address, folder, _ = sealed
    cert, key = str(folder / "cluster.pem"), str(folder / "cluster-key.pem")
    other, other_key = certificate(tmp_path, "other")
    for configured, message in (
        ({}, f"penstock: no certificates for {address}: Dask's configuration has to name them"),
        ({"ca_file": other, "client__cert": other, "client__key": other_key}, "no Dask scheduler answers at tls://"),
        ({"ca_file": cert, "client__cert": other, "client__key": other_key}, "no Dask scheduler answers at tls://"),
        ({"ca_file": str(folder / "none"), "client__cert": cert, "client__key": key}, "No such file"),
    ):
        done = swept(small, tmp_path / "out", address, **configured)
        assert done.returncode in (1, 2), done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr
    plain = swept(small, tmp_path / "out", address.replace("tls://", "tcp://"))
    assert plain.returncode in (1, 2)
    assert "no Dask scheduler answers at tcp://" in plain.stderr


# ------------------------------------------------------------------------- what is read from a folder


class Hostile:
    """Its pickle makes a file: who loads it runs code."""

    def __init__(self, made: Path) -> None:
        self._made = made

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._made,)


def extension(pickled: bytes) -> Any:
    """A table with a column of a type that Arrow would load from a pickle."""
    import pyarrow as pa

    metadata = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": pickled}
    field = pa.field("key", pa.string(), metadata=metadata)
    return pa.table({"key": ["x"]}, schema=pa.schema([field]))


def contents(pickled: bytes) -> Iterator[tuple[str, bytes]]:
    """The pickle in every wrapping in which a reader might meet it."""
    import io

    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    yield "plain", pickled
    array = io.BytesIO()
    np.save(array, np.array([b""], dtype=object), allow_pickle=True)
    yield "numpy", array.getvalue()[:128] + pickled
    table = extension(pickled)
    parquet = io.BytesIO()
    pq.write_table(table, parquet)
    yield "parquet", parquet.getvalue()
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    yield "arrow", stream.getvalue().to_pybytes()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, reproduced: Path) -> Path:
    """Every kind of folder that is read again, each with what a first call left there."""
    from conftest import SMALL

    out = tmp_path_factory.mktemp("folders")
    (out / "small.toml").write_text(SMALL, encoding="utf-8")
    ps.sweep(out / "small.toml", seeds=2, out=out / "sweep", flows=True, series="500 ms")
    ps.evaluate(["red"], quick=True, seeds=1, only=["mild"], out=out / "evaluate")
    shutil.copytree(reproduced, out / "reproduce")
    return out


def read_again(out: Path) -> None:
    """All that reads these folders. Damage may be an error; what is asked is what else happens."""
    from helpers import tiny_paper
    from penstock.cli import main
    from penstock.reproduce import command
    from penstock.reproduce.model import Settings

    sweep = str(out / "sweep")
    main(["sweep", "--verify", "--out", sweep])
    main(["show", sweep, "utilization"])
    main(["export", sweep, "--csv"])
    main(["sweep", str(out / "small.toml"), "--seeds", "2", "--out", sweep, "--flows", "--series", "500ms"])
    main(["evaluate", "red", "--quick", "--seeds", "1", "--only", "mild", "--out", str(out / "evaluate")])
    with contextlib.suppress(ps.Error):
        command.reproduce([tiny_paper.PAPER], Settings.of_seeds(3), out / "reproduce", jobs=2)


@pytest.mark.parametrize("wrapping", ["plain", "numpy", "parquet", "arrow"])
def test_a_hostile_file_wherever_one_is_read_runs_nothing(folders: Path, wrapping: str, tmp_path: Path) -> None:
    """In place of each file, and beside them under names that a store looks for."""
    import pickle

    made = tmp_path / "ran"
    pickled = pickle.dumps(Hostile(made))
    pickle.loads(pickled)
    assert made.exists()  # it would
    made.unlink()
    evil = dict(contents(pickled))[wrapping]
    out = tmp_path / "folders"
    shutil.copytree(folders, out)
    there = [path for path in out.rglob("*") if path.is_file() and path.suffix != ".toml"]
    assert {path.suffix for path in there} >= {".parquet", ".json", ".svg", ".html", ".csv"}
    for path in there:
        path.write_bytes(evil)
    for folder in {path.parent for path in there} | {out / name / "journal" for name in ("sweep", "evaluate")}:
        folder.mkdir(exist_ok=True)
        for name in ("evil.parquet", "evil.journal", "evil.json", "evil.pkl", "evil.npy", "evil.yaml"):
            (folder / name).write_bytes(evil)
    read_again(out)
    assert not made.exists()


#: Modules that make objects, or code, of what they read.
RUNNING_MODULES = {"cloudpickle", "dill", "joblib", "marshal", "numexpr", "pickle", "runpy", "shelve", "yaml"}
#: Calls that do so.
RUNNING_CALLS = {"eval", "exec", "compile", "read_pickle", "unsafe_load", "full_load"}
#: A worker process asks whether what was raised survives the way: it reads what it has just written.
OWN_BYTES = ("python/penstock/runs/processes.py", "pickle.loads(pickle.dumps(error))")
#: A worker of a cluster gets classes from the sweep, which may have it run anything. No file is read.
TRAVELS = ("python/penstock/sweeps/travel.py", "pickle.loads(own)")


def test_nothing_makes_objects_or_code_of_a_file() -> None:
    wrong, own = [], 0
    for path in sorted((ROOT / "python" / "penstock").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if name not in (OWN_BYTES[0], TRAVELS[0]) and RUNNING_MODULES.intersection(
                each.partition(".")[0] for each in modules
            ):
                wrong.append(f"{name}: {', '.join(modules)}")
            if isinstance(node, ast.Call):
                wrong += [f"{name}:{node.lineno}" for each in node.keywords if each.arg == "allow_pickle"]
                called = ast.unparse(node.func)
                if called.startswith("pickle.load"):
                    known = (name, ast.unparse(node)) in (OWN_BYTES, TRAVELS)
                    own += known
                    wrong += [f"{name}:{node.lineno}"] * (not known)
                if called.rpartition(".")[2] in RUNNING_CALLS and not called.startswith("re."):
                    wrong.append(f"{name}:{node.lineno}")
    assert wrong == []
    assert own == 2


def test_the_oldest_arrow_that_is_taken_runs_no_code_of_a_file() -> None:
    """Arrow 14.0.0 loaded a type's pickle by itself (CVE-2023-47248)."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"pyarrow>=14.0.1"' in text


def test_the_lab_writes_names_as_text() -> None:
    for file in (ROOT / "docs" / "lab").glob("*.js"):
        text = file.read_text(encoding="utf-8", errors="replace")
        if len(text) < 1_000_000:  # the rest is the engine
            for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
                assert way not in text, f"{file.name}: {way}"
