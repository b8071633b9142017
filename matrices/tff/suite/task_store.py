"""A store of tasks that stateless workers in other processes pull from, because nobody can dial them.

Copy this file; it needs the standard library and NumPy, and the workers need TensorFlow Federated. A task is a
serialised computation and its arguments. Who wants work done keeps the store, an sqlite file, and may serve it:

    store = TaskStore("tasks.sqlite")
    with served(store) as url:
        results = run_all(store, serialized(work), [(data, model) for data in clients], seconds=60)

Workers dial out, to the file or to the service, as many and as often as they like:

    python task_store.py http://127.0.0.1:8080 --seconds 600

A worker leases a task. When it is lost, so is nothing but time: after the lease another worker gets the task. The
first result of a task counts, and every later one is ignored, so no result enters a sum twice.

What may go through a store: not the single responses of an executor. Those show the data of one client at every step,
while in a federated computation data leaves clients through federated operators alone; and they ask for leaves that
keep state. The pieces of a MapReduce form (`work` at the clients, then `accumulate`, `merge` and `report`) have neither
fault, as long as only he who aggregates reads the store. Computations are programs: serve only to those whom you trust;
the service listens on the loopback interface and knows no passwords, so put a tunnel that does in front of it.
"""

import argparse
import collections
import collections.abc
import contextlib
import http.client
import http.server
import io
import json
import signal
import sqlite3
import sys
import threading
import time
import urllib.parse
import uuid

import numpy as np

Task = collections.namedtuple("Task", "id computation arguments")
_TABLE = """
CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY, computation BLOB NOT NULL, arguments BLOB NOT NULL,
    leased_until REAL NOT NULL DEFAULT 0, leases INTEGER NOT NULL DEFAULT 0, result BLOB, error TEXT)
"""


class TaskFailed(Exception):
    """A worker ran the task, and it raised."""


class TaskStore:
    """The tasks and their results, in one sqlite file that any number of threads and processes may open."""

    def __init__(self, path, lease_seconds=30.0, clock=time.time):
        """Open the file; make it when there is none."""
        self._path = str(path)
        self._lease_seconds = lease_seconds
        self._clock = clock
        with self._transaction() as database:
            database.execute(_TABLE)

    def put(self, computation, arguments, task=None):
        """Add a task and return its id; a task whose id is known already is left as it is."""
        task = uuid.uuid4().hex if task is None else task
        with self._transaction() as database:
            row = (task, computation, pack(list(arguments)))
            database.execute("INSERT OR IGNORE INTO tasks (id, computation, arguments) VALUES (?, ?, ?)", row)
        return task

    def take(self):
        """Lease the oldest task that is neither done nor leased, and return it; None when there is none."""
        now = self._clock()
        with self._transaction() as database:
            row = database.execute(
                "SELECT id, computation, arguments FROM tasks WHERE result IS NULL AND error IS NULL"
                " AND leased_until <= ? ORDER BY rowid LIMIT 1",
                (now,),
            ).fetchone()
            if row is None:
                return None
            lease = (now + self._lease_seconds, row[0])
            database.execute("UPDATE tasks SET leased_until = ?, leases = leases + 1 WHERE id = ?", lease)
        return Task(*row)

    def give(self, task, result=None, error=None):
        """Note the packed result of a task, or its error; return whether it counts, as only the first one does."""
        with self._transaction() as database:
            changed = database.execute(
                "UPDATE tasks SET result = ?, error = ? WHERE id = ? AND result IS NULL AND error IS NULL",
                (result, error, task),
            )
            return changed.rowcount == 1

    def result(self, task):
        """Return whether a task is done, and its result; raise TaskFailed for one that raised, KeyError for none."""
        with self._transaction() as database:
            row = database.execute("SELECT result, error FROM tasks WHERE id = ?", (task,)).fetchone()
        if row is None:
            raise KeyError(task)
        if row[1] is not None:
            raise TaskFailed(row[1])
        return row[0] is not None, None if row[0] is None else unpack(row[0])

    def leases(self, task):
        """Return how often a task was leased."""
        with self._transaction() as database:
            return database.execute("SELECT leases FROM tasks WHERE id = ?", (task,)).fetchone()[0]

    @contextlib.contextmanager
    def _transaction(self):
        with contextlib.closing(sqlite3.connect(self._path, timeout=10, isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield database
            database.execute("COMMIT")


def run_all(store, computation, arguments, seconds, poll_seconds=0.005):
    """Have a computation run once for each tuple of arguments; return the results in the order of the arguments.

    Raises TaskFailed for the first task that raised, and TimeoutError when the results are not there in time.
    """
    tasks = [store.put(computation, one) for one in arguments]
    end = time.monotonic() + seconds
    results = []
    for task in tasks:
        done, result = store.result(task)
        while not done:
            if time.monotonic() > end:
                raise TimeoutError(f"no result of task {task} within {seconds} s")
            time.sleep(poll_seconds)
            done, result = store.result(task)
        results.append(result)
    return results


# Over the wire: a store behind a small HTTP service.


@contextlib.contextmanager
def served(store, port=0):
    """Serve a store's `take` and `give` on the loopback interface until the block ends; return the address."""
    service = http.server.ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"store": store}))
    thread = threading.Thread(target=service.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{service.server_address[1]}"
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    store = None

    def do_POST(self):
        """Answer `/take` with a task or nothing, `/give` and `/fail` with whether the result or the error counts."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        if address.path == "/take":
            task = self.store.take()
            self._answer(b"" if task is None else pack([task.id, _bytes(task.computation), _bytes(task.arguments)]))
        elif address.path == "/give":
            self._answer(b"1" if self.store.give(query["task"], body) else b"0")
        elif address.path == "/fail":
            counts = self.store.give(query["task"], error=body.decode("utf-8", "replace"))
            self._answer(b"1" if counts else b"0")
        else:
            self.send_error(404)

    def log_message(self, *_):
        """Say nothing on standard error."""

    def _answer(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class ServedStore:
    """What a worker sees of a store that is served; each call dials out anew."""

    def __init__(self, url):
        """Take the address of the service."""
        self._host = urllib.parse.urlsplit(url).netloc

    def take(self):
        """Lease a task, as `TaskStore.take` does."""
        content = self._post("/take")
        if not content:
            return None
        task, computation, arguments = unpack(content)
        return Task(task, computation.tobytes(), arguments.tobytes())

    def give(self, task, result=b"", error=None):
        """Note a result or an error, as `TaskStore.give` does."""
        path, content = ("/give", result) if error is None else ("/fail", error.encode("utf-8", "replace"))
        return self._post(path + "?" + urllib.parse.urlencode({"task": task}), content) == b"1"

    def _post(self, path, content=b""):
        with contextlib.closing(http.client.HTTPConnection(self._host, timeout=30)) as connection:
            connection.request("POST", path, content)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                raise OSError(f"the store answered {answer.status}")
            return content


def _bytes(content):
    return np.frombuffer(content, np.uint8)


# Values as bytes: arrays in NumPy's own format, which runs no code when it is read, and their structure as JSON.


def pack(value):
    """Return bytes for a structure of arrays, numbers, strings, mappings, sequences and datasets."""
    arrays = []
    shape = json.dumps(_shape(value, arrays)).encode("utf-8")
    out = io.BytesIO()
    np.savez(out, *arrays, shape=_bytes(shape))
    return out.getvalue()


def unpack(content):
    """Return the structure that the bytes hold; whatever had named parts is an ordered mapping now."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return _value(json.loads(arrays["shape"].tobytes().decode("utf-8")), arrays)


def _shape(value, arrays):
    if type(value).__name__ == "Struct":
        # The library's own structure, of which old releases export no functions.
        elements = sys.modules[type(value).__module__].to_elements(value)
        value = collections.OrderedDict(elements) if any(name for name, _ in elements) else [v for _, v in elements]
    if value is None or type(value) in (bool, int, float, str):
        return {"plain": value}
    named = _named(value)
    if named is not None:
        return {"named": [[name, _shape(part, arrays)] for name, part in named]}
    if isinstance(value, (list, tuple)) or hasattr(value, "element_spec"):
        return {"list": [_shape(part, arrays) for part in value]}
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(f"cannot pack a {type(value).__name__}")
    arrays.append(array)
    return {"array": f"arr_{len(arrays) - 1}"}


def _named(value):
    """Return names and parts of a mapping, a named tuple or a class with fields; None for what has no names."""
    if isinstance(value, collections.abc.Mapping):
        return list(value.items())
    for fields in ("_fields", "__attrs_attrs__", "__dataclass_fields__"):
        if hasattr(value, fields):
            names = [getattr(field, "name", field) for field in getattr(value, fields)]
            return [(name, getattr(value, name)) for name in names]
    return None


def _value(shape, arrays):
    ((kind, content),) = shape.items()
    if kind == "named":
        return collections.OrderedDict((name, _value(part, arrays)) for name, part in content)
    if kind == "list":
        return [_value(part, arrays) for part in content]
    return arrays[content][()] if kind == "array" else content


# The worker.


def serialized(computation):
    """Return a computation as bytes."""
    import tensorflow_federated as tff

    return tff.framework.serialize_computation(computation).SerializeToString()


def deserialized(content):
    """Return the computation that the bytes hold."""
    import tensorflow_federated as tff
    from tensorflow_federated.proto.v0 import computation_pb2

    return tff.framework.deserialize_computation(computation_pb2.Computation.FromString(content))


def work_once(store, known):
    """Take a task, run it and give its result; return whether there was one.

    `known` maps serialised computations to computations. It only saves time: a worker keeps nothing else of a task.
    """
    task = store.take()
    if task is None:
        return False
    result, error = None, None
    try:
        if task.computation not in known:
            known[task.computation] = deserialized(task.computation)
        result = pack(known[task.computation](*unpack(task.arguments)))
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"[:10000]
    store.give(task.id, result, error)
    return True


def work(store, seconds, poll_seconds=0.005):
    """Take tasks and give their results for so long, or until the store is gone."""
    known, end = {}, time.monotonic() + seconds
    with contextlib.suppress(OSError, http.client.HTTPException):
        while time.monotonic() < end:
            if not work_once(store, known):
                time.sleep(poll_seconds)


def main():
    """Work for the store that the command line names."""
    parser = argparse.ArgumentParser(description="Pull tasks from a store, run them, and give the results back.")
    parser.add_argument("store", help="the address of a service, or the path of an sqlite file")
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long to work")
    options = parser.parse_args()
    # A shell's background job ignores this signal, and would hand that down to the process that the library starts and
    # stops by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = ServedStore(options.store) if options.store.startswith("http://") else TaskStore(options.store)
    work(store, options.seconds)


if __name__ == "__main__":
    main()
