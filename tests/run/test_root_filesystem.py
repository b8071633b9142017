"""All that a cell at L3 reads, writes, connects to and signals, held against the list that
docs/isolation.md prints.
"""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support import hostile
from support.hostile import PLENTY, Place

from compat.cli.machine import readable_paths
from compat.run import keeper
from compat.run.isolation import NETWORK, SYSTEM, made_up
from compat.run.supervise import run_limited

PAGE = Path(__file__).parents[2] / "docs" / "isolation.md"

# Lists what there is: the root is empty but for mounts, links and files that are made for the cell.
LOOK = r"""
import json, os, socket, stat, subprocess, sys

outside, ports, pid = json.loads(sys.argv[2])
seen, links = [], {}
def look(folder):
    for entry in os.scandir(folder):
        if entry.is_symlink():
            links[entry.path] = os.path.realpath(entry.path)
        elif not entry.is_dir() or os.lstat(entry.path).st_dev != os.lstat("/").st_dev:
            seen.append(entry.path)
        else:
            look(entry.path)
look("/")

def tried(act):
    try:
        return act() or True
    except OSError:
        return False

def connects(family, address):
    with socket.socket(family) as client:
        client.settimeout(2)
        return tried(lambda: client.connect(address))

def makes(family):
    return any(tried(lambda: socket.socket(family, kind).close()) for kind in (1, 2, 3, 5))

def writes(folder):
    path = folder + "/written" if os.path.isdir(folder) else folder
    return tried(lambda: open(path, "ab").close())

def settings():
    for folder, folders, names in os.walk("/proc"):
        if folder == "/proc":
            folders[:] = [name for name in folders if not name.isdigit()]
        yield from (f"{folder}/{name}" for name in names)

mounts = [line.split() for line in open("/proc/self/mountinfo")]
writable = [mount[4] for mount in mounts if "rw" in mount[5].split(",")]
folders = {"/", "/dev", "/etc", "/run", "/sys", *seen, *(mount[4] for mount in mounts)}
devices = {each for each in folders if each.startswith("/dev/") and each != "/dev/shm"}
find = ["/usr/bin/find", *sorted(folders - {"/", "/proc", "/sys"}), "-xdev", "-type", "s"]
print(json.dumps({
    "seen": seen,
    "links": links,
    "writable": writable,
    "written": sorted(each for each in folders - devices if writes(each)),
    "settings": [path for path in settings() if tried(lambda: os.open(path, os.O_WRONLY))],
    "sockets": subprocess.run(find, capture_output=True, text=True).stdout.split(),
    "paths": [path for path in outside if tried(lambda: os.stat(path))],
    "unix": [path for path in outside if connects(socket.AF_UNIX, path)],
    "abstract": connects(socket.AF_UNIX, "\0" + ports[1]),
    "families": [family for family in range(64) if makes(family)],
    "loopback": connects(socket.AF_INET, ("127.0.0.1", ports[0])),
    "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    "signalled": [each for each in (pid, 1) if tried(lambda: os.kill(each, 18))],
    "users": open("/etc/passwd").read(),
    "host": socket.gethostname(),
}))
"""


def listed(kind: str) -> set[str]:
    """The words of the page's list under a kind."""
    lines = re.findall(rf"^{kind} {{2,}}(.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {word for line in lines for word in line.split()}


@pytest.fixture(params=("L3",))
def sandboxed(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    (tmp_path / "cell" / "home").mkdir(parents=True)
    return hostile.place(request, tmp_path / "cell")


def test_the_page_prints_the_list_that_the_code_has(tmp_path: Path) -> None:
    room = Place(tmp_path, "L3").room()
    assert listed("read") == set(SYSTEM.split())
    assert listed("read with a network") == set(NETWORK)
    assert listed("made up") == set(made_up(room, 1000, 1000))
    assert listed("write") == {"/tmp", "/var/tmp", "/dev/shm"}
    families = {socket.AddressFamily(each).name for each in keeper._UNIX_IP_NETLINK}
    assert listed("sockets") == families


@pytest.mark.parametrize("network", [False, True], ids=("without-network", "with-network"))
def test_a_cell_reaches_what_the_page_lists_and_nothing_else(
    sandboxed: Place, tmp_path: Path, network: bool
) -> None:
    cell, home = sandboxed.folder, sandboxed.folder / "home"
    (tmp_path / "token").write_text("secret")
    victim = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(100)"])
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as tcp,
            socket.socket(socket.AF_UNIX) as unix,
            socket.socket(socket.AF_UNIX) as abstract,
        ):
            unix.bind(str(tmp_path / "socket"))
            abstract.bind(f"\0{sandboxed.mark}")
            for server in (tcp, unix, abstract):
                server.listen()
            outside = [
                str(tmp_path / "socket"),
                str(tmp_path / "token"),
                str(Path.home() / ".profile"),
            ]
            outside += ["/etc/shadow", "/etc/machine-id", "/etc/pip.conf", "/run/systemd", "/srv"]
            asked = [outside, [tcp.getsockname()[1], sandboxed.mark], victim.pid]
            room = sandboxed.room(
                cwd=home,
                writable=(home,),
                readable=(cell, *map(Path, readable_paths(sys.executable))),
                network=network,
            )
            sandboxed.script("")
            (cell / "look.py").write_text(LOOK, encoding="utf-8")
            command = [sys.executable, str(cell / "look.py"), sandboxed.mark, json.dumps(asked)]
            ended = run_limited(command, room, PLENTY, level="L3")
        assert ended.exit_code == 0, sandboxed.log.read_text()
        found = json.loads(sandboxed.log.read_text().splitlines()[-1])
    finally:
        victim.kill()
        victim.wait()

    own = {str(path) for path in (cell, home, *map(Path, readable_paths(sys.executable)))}
    own |= {sys.prefix, sys.base_prefix, str(Path(hostile.run_limited.__code__.co_filename).parent)}
    own |= {str(Path(path).resolve()) for path in own}
    private, made = listed("write"), listed("made up")
    system = listed("read") | (listed("read with a network") if network else set())
    shown = own | {str(Path(path).resolve()) for path in system}
    assert set(found["seen"]) - shown - private - made <= {"/dev", "/proc"}
    # A link is no more than a name: of a listed path, of one that is shown, or on the way to one.
    for link, target in found["links"].items():
        assert any(Path(path).is_relative_to(link) for path in own | system) or target in shown
    is_device = re.compile(r"/dev/(null|zero|full|u?random|tty|pts)|/dev/console").fullmatch
    rest = {path for path in found["writable"] if not is_device(path)} - private
    assert rest == {str(home), "/proc"}
    assert set(found["written"]) == {str(home), *private}
    assert (found["settings"], found["sockets"], found["unix"]) == ([], [], [])
    assert found["paths"] == []
    assert found["loopback"] is network
    assert {socket.AddressFamily(each).name for each in found["families"]} <= listed("sockets")
    assert found["abstract"] is (network and hostile.landlock() < 6)
    assert found["processes"][0] == 1
    assert victim.pid not in found["processes"]
    assert victim.pid not in found["signalled"]
    assert 1 not in found["signalled"] or hostile.landlock() < 6
    accounts = {line.split(":")[0] for line in found["users"].splitlines()}
    assert accounts <= {"root", "nobody", "cell"}
    assert found["host"] == "localhost"
