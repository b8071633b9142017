import json
import socket
import sys
import threading
from pathlib import Path

import pytest
from support import hostile
from support.hostile import EACH_LEVEL, NAMESPACED, PLENTY, Place

from compat.run.supervise import run_limited


@pytest.fixture(params=EACH_LEVEL)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return hostile.place(request, tmp_path)


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
"/etc", "/run"):
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
        assert written == [f"written {sandboxed.folder}"]
        assert not list(outside.iterdir())

    def test_sees_nothing_of_what_is_hidden_but_what_it_needs(
        self, sandboxed: Place, tmp_path: Path
    ) -> None:
        home = tmp_path / "home"
        for name in (".ssh/id", "tools/python/lib", "cells/one/venv"):
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text("x")
        (tmp_path / "token").write_text("secret")
        room = sandboxed.room(
            hidden=(home, tmp_path / "token"),
            readable=(home / "tools",),
            writable=(sandboxed.folder, home / "cells/one"),
        )
        text = f"""
            home = {str(home)!r}
            print(sorted(os.listdir(home)), os.listdir(home + "/tools/python"), os.listdir(home + \
"/cells"))
            try:
                print(open({str(tmp_path / "token")!r}).read())
            except OSError:
                print("refused")
            for name in ("new", "tools/new", "cells/new", "cells/one/new"):
                try:
                    open(os.path.join(home, name), "w")
                    print("written", name)
                except OSError:
                    pass
            """
        ended = run_limited(sandboxed.script(text), room, PLENTY, level="L3")
        assert ended.exit_code == 0, sandboxed.log.read_text()
        assert sandboxed.log.read_text().splitlines() == [
            "['cells', 'tools'] ['lib'] ['one']",
            "refused",
            "written cells/one/new",
        ]

    def test_runs_even_when_the_interpreter_of_compat_is_hidden(self, sandboxed: Place) -> None:
        home = Path(sys.prefix).parent
        room = sandboxed.room(hidden=(home,), writable=(sandboxed.folder,))
        ended = run_limited(["/bin/echo", "hello"], room, PLENTY, level="L3")
        assert (ended.exit_code, sandboxed.log.read_text()) == (0, "hello\n")

    def test_cannot_undo_its_mounts(self, sandboxed: Place) -> None:
        ended = sandboxed.run("""
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            print(libc.mount(None, b"/", None, 32 | 4096, None), libc.umount2(b"/run", 2))
            """)
        assert (ended.exit_code, sandboxed.log.read_text()) == (0, "-1 -1\n")

    def test_finds_no_socket_of_another_program(self, sandboxed: Place) -> None:
        sandboxed.run("print(os.listdir('/run'))")
        assert sandboxed.log.read_text() == "[]\n"
