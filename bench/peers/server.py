"""OpenSearch put together from its Maven packages, and one node of it on loopback.

The server's package comes without its modules; they are packages of their own. 2.19.1 is the last release whose k-NN
package extends only modules that are published. Without native libraries k-NN is Lucene's. A JDK 17 or 21 is needed, as
the server sets a security manager, and `mvn`. As root the node runs as nobody: all folders above must be open to it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

VERSION, LOG4J = "2.19.1", "2.21.0"
GROUP = "org.opensearch"
PLUGINS = {"opensearch-knn": "opensearch-knn", "opensearch-neural-search": "neural-search"}
#: SHA-256 over the names and SHA-256 of all jars, ascending: what is run is what was looked at.
DIGEST = "a700c0b678fcdce6c1e485e05b470ddfa161d833b0e59f7de70025198acf40ca"
HEAP, NOBODY, SECONDS = "1g", 65534, 180

_NETTY = """grant {
  permission java.net.SocketPermission "*", "accept,connect,listen,resolve";
  permission java.lang.reflect.ReflectPermission "suppressAccessChecks";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
  permission java.lang.RuntimePermission "accessClassInPackage.sun.misc";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "setContextClassLoader";
};
"""
_PAINLESS = """grant {
  permission java.lang.RuntimePermission "createClassLoader";
  permission java.lang.RuntimePermission "getClassLoader";
  permission java.lang.RuntimePermission "accessDeclaredMembers";
};
"""
#: Modules: the package, the class of the plugin, and what the distribution permits it.
MODULES = {
    "transport-netty4": ("transport-netty4-client", f"{GROUP}.transport.Netty4Plugin", _NETTY),
    "lang-painless": ("lang-painless", f"{GROUP}.painless.PainlessPlugin", _PAINLESS),
    "analysis-common": ("analysis-common", f"{GROUP}.analysis.common.CommonAnalysisPlugin", ""),
}
LOGGING = """status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


def install(home: Path) -> None:
    """Gather the server, its modules and plugins in a folder, about 65 MB, unless they are there."""
    if not (home / "ready").exists():
        for program in ("java", "mvn"):
            if not shutil.which(program):
                raise SystemExit(f"opensearch needs {program}: install a JDK 17 or 21 and Maven")
        shutil.rmtree(home, ignore_errors=True)
        for folder in ("lib", "modules", "plugins", "bin", "config", "data", "extensions"):
            (home / folder).mkdir(parents=True)
        with tempfile.TemporaryDirectory() as scratch:
            _gather(home, Path(scratch))
        (home / "ready").write_text(VERSION)
    if (found := digest(home)) != DIGEST:
        raise SystemExit(f"{home} holds other packages than were looked at ({found}): delete it")


def digest(home: Path) -> str:
    """Return the digest of all jars of an installation."""
    jars = sorted(home.rglob("*.jar"), key=lambda jar: (jar.parent.name, jar.name))
    lines = (f"{jar.parent.name}/{jar.name} {hashlib.sha256(jar.read_bytes()).hexdigest()}\n" for jar in jars)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _gather(home: Path, scratch: Path) -> None:
    core = [(GROUP, "opensearch", VERSION), (GROUP, "opensearch-plugin-classloader", VERSION)]
    core += [("org.apache.logging.log4j", "log4j-core", LOG4J)]
    for jar in _jars(core, scratch / "core"):
        shutil.copy(jar, home / "lib")
    for name, (package, plugin, policy) in MODULES.items():
        folder = home / "modules" / name
        folder.mkdir()
        for jar in _jars([(f"{GROUP}.plugin", package, VERSION)], scratch / name):
            if not (home / "lib" / jar.name).exists():
                shutil.copy(jar, folder)
        about = {"description": name, "name": name, "classname": plugin, "java.version": "11"}
        about |= {"version": VERSION, "opensearch.version": VERSION, "has.native.controller": "false"}
        (folder / "plugin-descriptor.properties").write_text("".join(f"{key}={about[key]}\n" for key in about))
        if policy:
            (folder / "plugin-security.policy").write_text(policy)
    for name, package in PLUGINS.items():
        artifact = f"{GROUP}.plugin:{package}:{VERSION}.0:zip"
        _maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={scratch}")
        with zipfile.ZipFile(scratch / f"{package}-{VERSION}.0.zip") as packed:
            packed.extractall(home / "plugins" / name)


def _jars(packages: list[tuple[str, str, str]], folder: Path) -> list[Path]:
    """Fetch packages with all that they need."""
    wanted = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in packages
    )
    folder.mkdir()
    (folder / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>local</groupId>'
        "<artifactId>gather</artifactId><version>1</version><packaging>pom</packaging>"
        f"<dependencies>{wanted}</dependencies></project>"
    )
    _maven("-f", str(folder / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={folder / 'jars'}")
    return sorted((folder / "jars").iterdir())


def _maven(*arguments: str) -> None:
    subprocess.run(["mvn", "-q", "-B", "-C", *arguments], check=True, stdin=subprocess.DEVNULL)


class Node:
    """One node over a folder of data, started at once; `port` is where it listens. Stopped by `stop`."""

    def __init__(self, home: Path, data: Path) -> None:
        home, data = home.resolve(), data.resolve()
        self._log = data / "console.log"
        self.port, transport = _free_port(), _free_port()
        settings = {
            "path.data": str(data / "data"),
            "path.logs": str(data / "logs"),
            "network.host": "127.0.0.1",
            "http.port": self.port,
            "transport.port": transport,
            "discovery.type": "single-node",
            "cluster.routing.allocation.disk.threshold_enabled": False,
        }
        for name in ("config", "data", "logs", "tmp"):
            (data / name).mkdir(parents=True)
        (data / "config" / "opensearch.yml").write_text(
            "".join(f"{key}: {json.dumps(settings[key])}\n" for key in settings)
        )
        (data / "config" / "log4j2.properties").write_text(LOGGING)
        flags = [f"-Xms{HEAP}", f"-Xmx{HEAP}", "-Djava.security.manager=allow", f"-Djava.io.tmpdir={data / 'tmp'}"]
        flags += ["-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true", "-Dlog4j2.disable.jmx=true"]
        flags += [f"-Dopensearch.path.home={home}", f"-Dopensearch.path.conf={data / 'config'}"]
        flags += ["-Dopensearch.distribution.type=tar"]
        command = ["java", *flags, "-cp", str(home / "lib" / "*"), f"{GROUP}.bootstrap.OpenSearch"]
        as_nobody: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        if as_nobody:
            _open_to_nobody(home, data)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=data, **as_nobody
            )
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self._process.poll() is None:
            try:
                url = f"http://127.0.0.1:{self.port}/_cluster/health?wait_for_status=green&timeout=5s"
                with urllib.request.urlopen(url, timeout=10) as answer:
                    if json.load(answer)["status"] == "green":
                        return
            except OSError:
                time.sleep(0.5)
        said = self._log.read_text("utf-8", "replace").strip().splitlines()[-1:]
        self.stop()
        raise SystemExit(f"opensearch did not start: {' '.join(said) or f'not green within {SECONDS} s'}")

    def stop(self) -> None:
        """End the node."""
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _open_to_nobody(home: Path, data: Path) -> None:
    for path in (data.parent, data, *data.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    closed = [path for path in (home, *home.parents, *data.parents) if not path.stat().st_mode & 0o001]
    for path in closed:
        if path.stat().st_uid != NOBODY:
            raise SystemExit(f"{path} is closed to nobody, whom the node runs as: choose another folder")
