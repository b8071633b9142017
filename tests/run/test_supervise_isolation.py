import ctypes
import json
import os
import pwd
import socket
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from support import hostile
from support.hostile import EACH_LEVEL, NAMESPACED, PLENTY, Place

from compat.run import keeper
from compat.run.evidence import Isolation
from compat.run.isolation import prefix_paths
from compat.run.supervise import run_limited


@pytest.fixture(params=EACH_LEVEL)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return hostile.place(request, tmp_path)


@pytest.fixture
def landlock() -> int:
    return hostile.landlock()


@pytest.fixture(params=NAMESPACED)
def namespaced(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return hostile.place(request, tmp_path)


@pytest.fixture(params=("L3",))
def sandboxed(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    (tmp_path / "cell").mkdir()
    return hostile.place(request, tmp_path / "cell")


# What the loopback device must be able to do: the cells' own gRPC listens on it.
LOOPBACK = """
    import socket, threading
    for family, host in ((socket.AF_INET, "127.0.0.1"),):
        server = socket.create_server((host, 0), family=family)
        client = socket.create_connection(server.getsockname()[:2], timeout=2)
        peer, _ = server.accept()
        client.sendall(b"hello")
        print(peer.recv(5).decode())
"""


class TestTheNetwork:
    def test_the_loopback_device_works_without_a_network(self, place: Place) -> None:
        ended = place.run(LOOPBACK)
        assert (ended.exit_code, place.log.read_text()) == (0, "hello\n")

    def test_nothing_outside_is_reached_without_a_network(self, namespaced: Place) -> None:
        with socket.create_server(("127.0.0.1", 0)) as outside:
            ended = namespaced.run(f"""
                import socket
                for address in (("127.0.0.1", {outside.getsockname()[1]}), ("192.0.2.1", 80)):
                    try:
                        socket.create_connection(address, timeout=2)
                        print("reached", address)
                    except OSError as fault:
                        print(fault.errno)
                """)
        assert ended.exit_code == 0
        assert "reached" not in namespaced.log.read_text()

    def test_with_a_network_a_server_on_this_machine_is_reached(self, place: Place) -> None:
        with socket.create_server(("127.0.0.1", 0)) as outside:
            threading.Thread(
                target=lambda: outside.accept()[0].sendall(b"hello"), daemon=True
            ).start()
            text = f"""
                import socket
                print(socket.create_connection(("127.0.0.1", {outside.getsockname()[1]}), \
timeout=2).recv(5))
                """
            ended = run_limited(
                place.script(text), place.room(network=True), PLENTY, level=place.level
            )
        assert (ended.exit_code, place.log.read_text()) == (0, "b'hello'\n")


class TestTheKeeper:
    def test_cannot_be_reached_by_its_command(self, namespaced: Place) -> None:
        ended = namespaced.run("""
            for path in ("/proc/1/fd/1", "/proc/1/mem", "/proc/1/environ"):
                try:
                    os.close(os.open(path, os.O_RDONLY if "environ" in path else os.O_WRONLY))
                    print("reached", path)
                except OSError as fault:
                    print(fault.strerror)
            raise SystemExit(1)
            """)
        assert (ended.by, ended.exit_code) == ("exit", 1)
        assert namespaced.log.read_text() == "Permission denied\n" * 3

    def test_gets_no_limit_and_no_signal_from_its_command(self, place: Place) -> None:
        ended = place.run(f"""
            import resource
            pid = os.getppid()
            for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
                try:
                    resource.prlimit(pid, what, (0, 0))
                except OSError:
                    pass
            if {place.level in NAMESPACED}:
                caught = [line for line in open("/proc/1/status") if line.startswith("SigCgt")]
                print(int(caught[0].split()[1], 16) == 1 << signal.SIGCHLD - 1, flush=True)
            os._exit(1)
            """)
        assert (ended.by, ended.exit_code) == ("exit", 1)
        assert place.log.read_text() in ("", "True\n")


class TestANamespace:
    def test_shows_no_process_but_its_own(self, namespaced: Place) -> None:
        namespaced.run("print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()))")
        assert json.loads(namespaced.log.read_text()) == [1, 2]

    def test_gives_no_capabilities(self, namespaced: Place) -> None:
        namespaced.run(
            "print([line for line in open('/proc/self/status') if line.startswith('Cap')])"
        )
        assert set(namespaced.log.read_text()) & set("123456789abcdef") <= set("abcdef")

    def test_its_init_shows_its_environment_to_nobody_who_could_use_it(
        self, namespaced: Place
    ) -> None:
        namespaced.run("print(open('/proc/1/environ').read())")
        assert "TOKEN" not in namespaced.log.read_text()


class TestASandbox:
    def test_writes_only_where_it_may(self, sandboxed: Place, tmp_path: Path) -> None:
        outside = tmp_path / "store"
        outside.mkdir()
        ended = sandboxed.run(f"""
            for folder in ({str(sandboxed.folder)!r}, {str(outside)!r}, "/usr/local", "/var/tmp", \
"/etc", "/run", "/dev", "/", "/proc/sys/kernel"):
                try:
                    with open(os.path.join(folder, "written-by-a-cell"), "w") as file:
                        file.write("x")
                    print("written", folder)
                except OSError as fault:
                    print(fault.errno)
            """)
        assert ended.exit_code == 0
        written = [
            line for line in sandboxed.log.read_text().splitlines() if line.startswith("written")
        ]
        assert written == [f"written {sandboxed.folder}", "written /var/tmp"]
        assert not list(outside.iterdir())
        assert not Path("/var/tmp/written-by-a-cell").exists()

    def test_sees_a_folder_by_each_name_that_it_is_called(
        self, sandboxed: Place, tmp_path: Path
    ) -> None:
        for name in (".ssh/id", "tools/python-3.1/lib", "cells/one/venv"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("x")
        (tmp_path / "tools/python").symlink_to("../tools/python-3.1")
        room = sandboxed.room(
            readable=(tmp_path / "tools/python",),
            writable=(sandboxed.folder, tmp_path / "cells/one"),
        )
        text = f"""
            home = {str(tmp_path)!r}
            print(sorted(os.listdir(home)), os.listdir(home + "/tools/python"), os.listdir(home + \
"/cells"))
            for name in ("new", "tools/new", "tools/python/new", "cells/new", "cells/one/new"):
                try:
                    open(os.path.join(home, name), "w")
                except OSError:
                    pass
            """
        ended = run_limited(sandboxed.script(text), room, PLENTY, level="L3")
        assert ended.exit_code == 0, sandboxed.log.read_text()
        seen = sandboxed.log.read_text().splitlines()
        assert seen[0] == "['cell', 'cells', 'tools'] ['lib'] ['one']"
        # What is below /tmp is its own, in memory, besides.
        assert [path.relative_to(tmp_path) for path in tmp_path.rglob("new")] == [
            Path("cells/one/new")
        ]

    def test_starts_however_the_interpreter_of_compat_was_called(
        self, sandboxed: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "project").mkdir()
        command = sandboxed.script("")
        called = os.path.relpath(sys.executable, tmp_path / "project")
        monkeypatch.setattr(sys, "executable", f"{tmp_path}/project/{called}")
        ended = run_limited(command, sandboxed.room(), PLENTY, level="L3")
        assert ended.exit_code == 0, sandboxed.log.read_text()

    def test_cannot_undo_its_mounts(self, sandboxed: Place) -> None:
        ended = sandboxed.run("""
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            print(libc.mount(None, b"/", None, 32 | 4096, None), libc.umount2(b"/usr", 2))
            """)
        assert (ended.exit_code, sandboxed.log.read_text()) == (0, "-1 -1\n")

    def test_of_a_home_folder_only_what_belongs_to_a_python_is_seen(self) -> None:
        home = Path(pwd.getpwuid(os.getuid()).pw_dir)
        assert prefix_paths(home / "a-python") == (home / "a-python",)
        for folder in (home, home.parent):
            assert folder not in prefix_paths(folder)
            assert {folder / "bin", folder / "lib"} <= set(prefix_paths(folder))


@pytest.mark.parametrize("level", [pytest.param("L1"), pytest.param("L0")])
def test_a_cell_does_not_read_the_environment_of_compat(
    level: Isolation, tmp_path: Path, landlock: int
) -> None:
    if landlock < 2:
        pytest.skip("this kernel has no Landlock that allows to move files")
    place = Place(tmp_path, level)
    place.run(f"""
        for path in ("/proc/{os.getpid()}/environ", "/proc/{os.getpid()}/mem"):
            try:
                print(open(path, "rb").read(9))
            except OSError as fault:
                print(fault.strerror)
        """)
    assert place.log.read_text() == "Permission denied\n" * 2


@pytest.mark.parametrize("level", EACH_LEVEL)
def test_what_no_namespace_holds_apart_is_refused_at_every_level(
    level: Isolation, tmp_path: Path
) -> None:
    """The keys of a user's session, the sockets by which a virtual machine speaks to its host."""
    if os.uname().machine not in keeper._CALLS:
        pytest.skip("no filter of system calls for this processor")
    add, request, act, ring, mount = keeper._CALLS[os.uname().machine][-1]
    libc, own = ctypes.CDLL(None), Place(tmp_path, level)
    name = own.mark.encode()
    # A session of its own (1), with a key; under a container's filter there are none.
    libc.syscall(act, 1, None)
    libc.syscall(add, b"user", name, b"secret", 6, -3)
    ended = own.run(f"""
        import ctypes, resource, socket
        libc = ctypes.CDLL(None)
        print(libc.syscall({request}, b"user", {name!r}, None, 0), libc.syscall({act}, 0, -3, 0))
        ring = libc.syscall({ring}, 8, ctypes.create_string_buffer(200))
        print(ring, libc.unshare(0x10020000) and -1, libc.syscall({mount}, b"tmpfs", 0))
        for family in range(64):
            for kind in (1, 2, 3, 5):
                try:
                    socket.socket(family, kind).close()
                    print(family)
                except OSError:
                    pass
        resource.prlimit(0, resource.RLIMIT_NOFILE, (100, 100))
        print(resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE))
        """)
    assert ended.exit_code == 0
    keys, made, *families, limits = own.log.read_text().splitlines()
    assert (keys, made[:2], made[-2:], limits) == ("-1 -1", "-1", "-1", "(100, 100)")
    assert {*families} <= {"1", "2", "10", "16"}  # Unix, both of IP, netlink


@pytest.mark.skipif(os.getuid() != 0, reason="only root has such rights")
@pytest.mark.parametrize("level", EACH_LEVEL)
def test_root_keeps_no_right_over_the_machine(level: Isolation, tmp_path: Path) -> None:
    own = Place(tmp_path, level)
    own.run("print([l.split()[1] for l in open('/proc/self/status') if l.startswith('CapEff')][0])")
    assert int(own.log.read_text(), 16) & ~0xFF == 0


@pytest.mark.parametrize("level", EACH_LEVEL)
def test_files_move_between_folders_at_every_level(level: Isolation, tmp_path: Path) -> None:
    ended = Place(tmp_path, level).run("""
        os.mkdir("a"), os.mkdir("b"), open("a/x", "w").close()
        os.link("a/x", "b/y"), os.rename("a/x", "b/x")
        """)
    assert ended.exit_code == 0


@pytest.mark.parametrize("level", EACH_LEVEL)
def test_files_elsewhere_stay_as_they_are_at_every_level(
    level: Isolation, tmp_path: Path, landlock: int
) -> None:
    """Such as the caches of L3, the notes of wheels, and records; in /tmp they would be open."""
    if level != "L3" and landlock < 3:
        pytest.skip("this kernel has no Landlock that governs how files are cut")
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        kept = Path(folder) / "kept"
        kept.write_text("kept")
        own = Place(tmp_path, level)
        ended = own.run(f"""
            kept, own = {str(kept)!r}, {str(tmp_path)!r} + "/own"
            open(own, "w").close()
            open("/dev/null", "w").close()
            acts = (
                lambda: open(kept, "a").write("changed"),
                lambda: os.truncate(kept, 0),
                lambda: os.remove(kept),
                lambda: os.rename(kept, kept + "2"),
                lambda: os.rename(own, kept),
                lambda: os.symlink(own, kept + "3"),
                lambda: (os.link(kept, own + "4"), open(own + "4", "a").write("changed")),
                lambda: os.mkdir(kept + "5"),
                lambda: os.mknod(own + "6", 0o600 | 0o060000, 0xFE00),
            )
            for number, act in enumerate(acts):
                try:
                    act()
                    print("worked:", number)
                except OSError:
                    pass
            """)
        assert (ended.exit_code, own.log.read_text()) == (0, "")
        assert (os.listdir(folder), kept.read_text()) == (["kept"], "kept")
