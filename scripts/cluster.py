#!/usr/bin/env python3
"""Run a real OpenSearch cluster on loopback, for tests and for trying things out.

    python scripts/cluster.py install           # gather the server from Maven packages, once (55 MB)
    python scripts/cluster.py run --nodes 1     # print `ready URL ...`; it ends with its input or with Ctrl-C
    python scripts/cluster.py run -- COMMAND    # run a command, to which OPENSEARCH_TEST_NODE names the first node

While it runs without a command, a line of input such as `kill 2` ends a node at once, `start 2` starts it again;
`stop 2` and `cont 2` make it hang and go on. Needs Java 17 or 21 and `mvn`; where they or the packages cannot be had it
ends with status 69. There is no security plugin: anybody on this machine can reach the nodes.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

#: The newest version whose k-NN plugin needs only modules that are published as packages.
VERSION = "2.19.1"
#: The versions of Java that it runs on: later ones have no security manager, which it sets.
JAVA = range(17, 24)
#: The user of the nodes where this program runs as root, which the server refuses: nobody.
USER = 65534
GREEN_SECONDS = 300.0
#: For one of the packages with all that it needs.
MAVEN_SECONDS = 600.0
#: Names the first node to a command that is run beside the cluster.
NODE = "OPENSEARCH_TEST_NODE"
#: The status that says that Java, Maven or the packages cannot be had: `EX_UNAVAILABLE` of sysexits.h.
UNAVAILABLE = 69
#: Another process may take a port between its choice and the start of the node that is to listen there.
_STARTS = 3
#: A node without a majority waits for one instead of ending.
STOP_SECONDS = 10.0

_PLUGINS = "org.opensearch.plugin"
_SERVER = (
    f"org.opensearch:opensearch:{VERSION}",
    f"org.opensearch:opensearch-plugin-classloader:{VERSION}",
    "org.apache.logging.log4j:log4j-core:2.21.0",
)
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
_PROJECT = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>rifflux</groupId>'
    "<artifactId>cluster</artifactId><version>1</version><packaging>pom</packaging><dependencies>{}</dependencies></project>"
)
_LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""
_JAVA = (
    "-Djava.security.manager=allow",
    "-Dio.netty.noUnsafe=true",
    "-Dio.netty.noKeySetOptimization=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dopensearch.distribution.type=tar",
)


class NodeEnded(Exception):
    """A node ended by itself."""


@dataclass(frozen=True, slots=True)
class Module:
    """A module of the server: its package, its class, and the permissions that the official distribution grants it."""

    name: str
    package: str
    plugin: str
    permissions: tuple[str, ...] = ()


_RUNTIME = "java.lang.RuntimePermission"
_SOCKET = "java.net.SocketPermission"
MODULES = (
    Module(
        "transport-netty4",
        "transport-netty4-client",
        "org.opensearch.transport.Netty4Plugin",
        (
            f'{_SOCKET} "*", "accept,connect,listen,resolve"',
            'java.lang.reflect.ReflectPermission "suppressAccessChecks"',
            f'{_RUNTIME} "accessDeclaredMembers"',
            f'{_RUNTIME} "accessClassInPackage.sun.misc"',
            f'{_RUNTIME} "getClassLoader"',
            f'{_RUNTIME} "setContextClassLoader"',
        ),
    ),
    Module(
        "lang-painless",
        "lang-painless",
        "org.opensearch.painless.PainlessPlugin",
        (f'{_RUNTIME} "createClassLoader"', f'{_RUNTIME} "getClassLoader"', f'{_RUNTIME} "accessDeclaredMembers"'),
    ),
    Module("analysis-common", "analysis-common", "org.opensearch.analysis.common.CommonAnalysisPlugin"),
    Module(
        "reindex",
        "reindex-client",
        "org.opensearch.index.reindex.ReindexPlugin",
        (f'{_SOCKET} "*", "connect,resolve"',),
    ),
)  # fmt: skip


def cache_folder() -> Path:
    """Return the folder that the server is installed in by default; root's home is closed to the nodes' user."""
    if os.geteuid() == 0:
        return Path("/var/tmp/rifflux-opensearch")
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "rifflux-opensearch"


def missing() -> str:
    """Return what this machine lacks to run a cluster, or nothing."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    if found is None or int(found[1]) not in JAVA:
        return f"java is of another version ({told.partition(chr(10))[0]})"
    return ""


def maven(*arguments: str) -> None:
    """Run Maven quietly. Raises `SubprocessError` if it fails or takes too long."""
    command = ["mvn", "-q", "-B", *arguments]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=MAVEN_SECONDS)


def gather(packages: Iterable[str], folder: Path) -> list[Path]:
    """Copy the jars of packages, `group:name:version`, with all that they need to a folder."""
    folder.mkdir(parents=True)
    project = folder / "pom.xml"
    project.write_text(_PROJECT.format("".join(_DEPENDENCY.format(*each.split(":")) for each in packages)))
    maven("-f", str(project), "dependency:copy-dependencies", f"-DoutputDirectory={folder}")
    return sorted(folder.glob("*.jar"))


def install(home: Path) -> None:
    """Install the server in a folder, unless it is there; an interrupted installation leaves nothing there."""
    if (home / "lib").is_dir():
        return
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
        server = Path(scratch, "server")
        for name in ("lib", "modules", "plugins", "bin", "config", "data", "logs", "extensions"):
            (server / name).mkdir(parents=True)
        for jar in gather(_SERVER, Path(scratch, "lib")):
            shutil.copy(jar, server / "lib")
        known = {jar.name for jar in (server / "lib").iterdir()}
        for module in MODULES:
            jars = gather([f"{_PLUGINS}:{module.package}:{VERSION}"], Path(scratch, module.name))
            _write_module(module, server / "modules" / module.name, [jar for jar in jars if jar.name not in known])
        plugin = f"{_PLUGINS}:opensearch-knn:{VERSION}.0:zip"
        maven("dependency:copy", f"-Dartifact={plugin}", f"-DoutputDirectory={scratch}")
        with zipfile.ZipFile(next(Path(scratch).glob("opensearch-knn-*.zip"))) as packed:
            packed.extractall(server / "plugins" / "opensearch-knn")
        server.chmod(0o755)
        server.rename(home)


def _write_module(module: Module, folder: Path, jars: Iterable[Path]) -> None:
    folder.mkdir()
    for jar in jars:
        shutil.copy(jar, folder)
    descriptor = {
        "name": module.name,
        "description": module.name,
        "version": VERSION,
        "opensearch.version": VERSION,
        "java.version": "11",
        "classname": module.plugin,
        "has.native.controller": "false",
    }
    lines = [f"{key}={value}\n" for key, value in descriptor.items()]
    (folder / "plugin-descriptor.properties").write_text("".join(lines))
    if module.permissions:
        granted = "".join(f"  permission {each};\n" for each in module.permissions)
        (folder / "plugin-security.policy").write_text(f"grant {{\n{granted}}};\n")


def free_ports(number: int) -> list[int]:
    """Return ports of loopback that nobody listens on now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _end_with_parent() -> None:
    """Have the kernel end this process when its parent ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@dataclass
class Cluster:
    """Nodes on loopback, numbered from 1, with their files in a folder."""

    home: Path
    data: Path
    http: list[int]
    transport: list[int]
    heap: str
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def urls(self) -> list[str]:
        """Return the address of each node."""
        return [f"http://127.0.0.1:{port}" for port in self.http]

    def start(self, number: int) -> None:
        """Start a node, or start it again with what it stored."""
        folder = self.data / f"node-{number}"
        for name in ("config", "data", "logs", "tmp"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        settings = {
            "cluster.name": "rifflux",
            "node.name": f"node-{number}",
            "path.data": str(folder / "data"),
            "path.logs": str(folder / "logs"),
            "path.repo": [str(self.data / "snapshots")],
            "network.host": "127.0.0.1",
            "http.port": self.http[number - 1],
            "transport.port": self.transport[number - 1],
            "discovery.seed_hosts": [f"127.0.0.1:{port}" for port in self.transport],
            "cluster.initial_cluster_manager_nodes": [f"node-{each + 1}" for each in range(len(self.http))],
            # The disk is this machine's, and rarely empty.
            "cluster.routing.allocation.disk.threshold_enabled": False,
        }
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in settings.items()]
        (folder / "config" / "opensearch.yml").write_text("".join(lines))
        (folder / "config" / "log4j2.properties").write_text(_LOGGING)
        (self.data / "snapshots").mkdir(exist_ok=True)
        user = None
        if os.geteuid() == 0:
            user = USER
            # What a node wrote itself is its own, and changes while others run.
            for path in (self.data, self.data / "snapshots", folder, *folder.iterdir(), *(folder / "config").iterdir()):
                os.chown(path, USER, USER)
        command = [
            "java", f"-Xms{self.heap}", f"-Xmx{self.heap}", *_JAVA,
            f"-Djava.io.tmpdir={folder / 'tmp'}",
            f"-Dopensearch.path.home={self.home}",
            f"-Dopensearch.path.conf={folder / 'config'}",
            "-cp", f"{self.home / 'lib'}/*", "org.opensearch.bootstrap.OpenSearch",
        ]  # fmt: skip
        with (folder / "logs" / "console.log").open("ab") as log:
            self.processes[number] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**os.environ, "HOME": str(folder)},
                user=user,
                group=user,
                extra_groups=None if user is None else [],
                preexec_fn=_end_with_parent,
            )

    def signal(self, number: int, what: signal.Signals) -> None:
        """Send a signal to a node; wait for its end if it is killed."""
        self.processes[number].send_signal(what)
        if what is signal.SIGKILL:
            self.processes[number].wait()

    def wait_until_green(self, seconds: float) -> None:
        """Wait until all nodes have found each other. Raises `NodeEnded`, and `SystemExit` with the log's place."""
        end = time.monotonic() + seconds
        address = f"{self.urls[0]}/_cluster/health?wait_for_status=green&wait_for_nodes={len(self.http)}&timeout=2s"
        while time.monotonic() < end:
            for number, process in self.processes.items():
                if process.poll() is not None:
                    log = self.data / f"node-{number}" / "logs" / "console.log"
                    raise NodeEnded(f"node {number} ended with {process.returncode}; see {log}")
            with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=10) as answer:
                if json.load(answer)["status"] == "green":
                    return
            time.sleep(0.3)
        raise SystemExit(f"the cluster was not green within {seconds:.0f} s; see {self.data}")

    def stop(self) -> None:
        """End all nodes and wait for them."""
        end = time.monotonic() + STOP_SECONDS
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(max(end - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def running(home: Path, data: Path, nodes: int, heap: str) -> Iterator[Cluster]:
    """Run a cluster within the block."""
    for folder in (home, *home.parents, data, *data.parents):
        if os.geteuid() == 0 and not folder.stat().st_mode & 0o001:
            raise SystemExit(f"{folder} is closed to the user of the nodes: choose another folder, or chmod o+x it")
    for left in reversed(range(_STARTS)):
        ports = free_ports(2 * nodes)
        cluster = Cluster(home, data, ports[:nodes], ports[nodes:], heap)
        try:
            for number in range(1, nodes + 1):
                cluster.start(number)
            try:
                cluster.wait_until_green(GREEN_SECONDS)
            except NodeEnded as error:
                if not left:
                    raise SystemExit(str(error)) from None
                print(f"{error}: trying other ports", file=sys.stderr)
                continue
            yield cluster
            return
        finally:
            cluster.stop()


_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "cont": signal.SIGCONT}


def beside(cluster: Cluster, command: list[str]) -> int:
    """Run a command that is told the first node, and return its status."""
    node = cluster.urls[0].removeprefix("http://")
    return subprocess.run(command, env={**os.environ, NODE: node}, check=False).returncode


def serve(cluster: Cluster) -> None:
    """Print the addresses, and carry out what the input says until it ends."""
    print("ready", *cluster.urls, flush=True)
    for line in sys.stdin:
        action, _, number = line.strip().partition(" ")
        if action == "start":
            cluster.start(int(number))
        elif action in _SIGNALS:
            cluster.signal(int(number), _SIGNALS[action])
        else:
            print("give: kill N, start N, stop N or cont N", file=sys.stderr)
            continue
        print("done", flush=True)


def main() -> None:
    """Install the server, or run a cluster."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("install", "run"))
    parser.add_argument("--home", type=Path, default=cache_folder() / VERSION, help="folder of the server")
    parser.add_argument("--data", type=Path, help="folder of the nodes' data (default: a temporary one)")
    parser.add_argument("--nodes", type=int, default=1, choices=(1, 2, 3))
    parser.add_argument("--heap", default="512m", help="memory of each node")
    parser.add_argument("command", nargs="*", help="what to run beside it, after --")
    options = parser.parse_args()
    if lack := missing():
        print(f"{lack}: a cluster needs Java 17 or 21, and Maven", file=sys.stderr)
        raise SystemExit(UNAVAILABLE)
    home = options.home.resolve()
    try:
        install(home)
    except subprocess.SubprocessError:
        print("the packages of OpenSearch cannot be had: see what Maven says above", file=sys.stderr)
        raise SystemExit(UNAVAILABLE) from None
    if options.action == "install":
        print(home)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM if options.command else 0))
    with contextlib.ExitStack() as stack:
        if options.data:
            data = options.data.resolve()
            data.mkdir(parents=True, exist_ok=True)
        else:
            # Temporary folders of root may be closed to the nodes' user.
            scratch = cache_folder().parent if os.geteuid() == 0 else None
            data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rifflux-cluster-", dir=scratch)))
        data.chmod(0o755)
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        cluster = stack.enter_context(running(home, data, options.nodes, options.heap))
        if options.command:
            sys.exit(beside(cluster, options.command))
        serve(cluster)


if __name__ == "__main__":
    main()
