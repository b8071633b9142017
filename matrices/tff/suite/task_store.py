"""A store of tasks that stateless workers in other processes pull from, because nobody can dial them.

Copy this file; it needs the standard library and NumPy, and the workers need TensorFlow Federated. A task is a
serialised computation and its arguments. Who wants work done keeps the store, an sqlite file, and may serve it:

    store = TaskStore("tasks.sqlite")
    with served(store) as url:
        results = run_all(store, serialized(work), [(data, model) for data in clients], seconds=60)

Workers dial out, to the file or to the service, as many and as often as they like:

    python task_store.py https://tasks.example.org --seconds 600

A worker leases a task, and renews the lease while it computes. When a worker dies, another gets the task after the
lease; a task whose workers keep dying raises TaskLost. The first result of a task counts, and every later one is
ignored, so no result enters a sum twice. A worker without work asks less and less often, down to about once a second,
and waits for a store that is away.

A client's data can stay with it. Address a task to the client and put `LOCAL` where the data belongs:

    results = run_all(store, serialized(work), [(LOCAL, model)] * 2, seconds=60, clients=["ann", "bob"])

Only a worker of that client takes the task, and puts the data in. `data.py` defines `data(client)`, which returns it:

    python task_store.py https://tasks.example.org --client ann --data data.py

What may go through a store: not the single responses of an executor. Those show the data of one client at every step,
while in a federated computation data leaves clients through federated operators alone; and they ask for leaves that
keep state. The pieces of a MapReduce form (`work` at the clients, then `accumulate`, `merge` and `report`) have neither
fault, as long as only he who aggregates reads the store. Computations are programs: serve only to those whom you trust;
the service listens on the loopback interface and knows no passwords and no TLS, so put a proxy or a tunnel that does
in front of it. A client's name addresses tasks and is no proof of who asks.
"""

import argparse
import base64
import collections
import collections.abc
import contextlib
import http.client
import http.server
import io
import json
import os
import random
import runpy
import signal
import sqlite3
import sys
import threading
import time
import urllib.parse
import uuid

import numpy as np

# `lease` is the number of the lease, which is valid for `seconds` at a time. `client` is None for a task of anybody.
Task = collections.namedtuple("Task", "id computation arguments client lease seconds")
_TABLE = """
CREATE TABLE IF NOT EXISTS tasks (
    id TEXT PRIMARY KEY, computation BLOB NOT NULL, arguments BLOB NOT NULL, client TEXT,
    leased_until REAL NOT NULL DEFAULT 0, leases INTEGER NOT NULL DEFAULT 0, result BLOB, error TEXT)
"""
_AWAY = (OSError, http.client.HTTPException)  # what a store raises that a worker cannot reach


class TaskFailed(Exception):
    """A worker ran the task, and it raised."""


class TaskLost(TaskFailed):
    """No worker came to the end of the task, however often it was leased."""


class _Local:
    """Stands in the arguments of a task for the data that only the worker of its client has."""


LOCAL = _Local()


class TaskStore:
    """The tasks and their results, in one sqlite file that any number of threads and processes may open."""

    def __init__(self, path, lease_seconds=30.0, most_leases=5, clock=time.time):
        """Open the file, or make it. `most_leases` is after how many leases without an answer a task is given up."""
        self._path = str(path)
        self._lease_seconds = lease_seconds
        self._most_leases = most_leases
        self._clock = clock
        with self._transaction() as database:
            database.execute(_TABLE)

    def put(self, computation, arguments, task=None, client=None):
        """Add a task and return its id; a task whose id is known already is left as it is.

        With a client, only workers of that client take it.
        """
        task = uuid.uuid4().hex if task is None else task
        with self._transaction() as database:
            row = (task, computation, pack(list(arguments)), client)
            database.execute(
                "INSERT OR IGNORE INTO tasks (id, computation, arguments, client) VALUES (?, ?, ?, ?)", row
            )
        return task

    def take(self, clients=()):
        """Lease the oldest task that is neither done nor leased, and return it; None when there is none.

        It is a task of one of the clients, or of anybody.
        """
        now, clients = self._clock(), list(clients)
        with self._transaction() as database:
            row = database.execute(
                "SELECT id, computation, arguments, client, leases + 1 FROM tasks WHERE result IS NULL"
                f" AND error IS NULL AND (client IS NULL OR client IN ({', '.join('?' * len(clients))}))"
                " AND leased_until <= ? AND leases < ? ORDER BY rowid LIMIT 1",
                (*clients, now, self._most_leases),
            ).fetchone()
            if row is None:
                return None
            lease = (now + self._lease_seconds, row[0])
            database.execute("UPDATE tasks SET leased_until = ?, leases = leases + 1 WHERE id = ?", lease)
        return Task(*row, self._lease_seconds)

    def renew(self, task, lease):
        """Let a lease begin again; return whether it does, as it does not once the task is done or leased again."""
        with self._transaction() as database:
            changed = database.execute(
                "UPDATE tasks SET leased_until = ? WHERE id = ? AND leases = ? AND result IS NULL AND error IS NULL",
                (self._clock() + self._lease_seconds, task, lease),
            )
            return changed.rowcount == 1

    def give(self, task, result=None, error=None):
        """Note the packed result of a task, or its error; return whether it counts, as only the first one does."""
        with self._transaction() as database:
            changed = database.execute(
                "UPDATE tasks SET result = ?, error = ? WHERE id = ? AND result IS NULL AND error IS NULL",
                (result, error, task),
            )
            return changed.rowcount == 1

    def result(self, task):
        """Return whether a task is done, and its result.

        Raises TaskFailed for one that raised, TaskLost for one whose workers all died, and KeyError for none.
        """
        with self._transaction() as database:
            row = database.execute(
                "SELECT result, error, client, leases, leased_until FROM tasks WHERE id = ?", (task,)
            ).fetchone()
        if row is None:
            raise KeyError(task)
        result, error, client, leases, leased_until = row
        if error is not None:
            raise TaskFailed(error)
        if result is not None:
            return True, unpack(result)
        if leases >= self._most_leases and leased_until <= self._clock():
            whose = "" if client is None else f" of the client {client!r}"
            raise TaskLost(f"task {task}{whose} was given up: {leases} workers took it, and none of them answered")
        return False, None

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


def run_all(store, computation, arguments, seconds, clients=None):
    """Have a computation run once for each tuple of arguments; return the results in the order of the arguments.

    With `clients`, one name for each tuple, each runs at that client. Raises TaskFailed for the first task that raised
    or was given up, and TimeoutError when the results are not there in time.
    """
    arguments = list(arguments)
    clients = [None] * len(arguments) if clients is None else list(clients)
    if len(clients) != len(arguments):
        raise ValueError(f"{len(clients)} clients for {len(arguments)} tuples of arguments")
    tasks = [store.put(computation, one, client=client) for one, client in zip(arguments, clients)]
    end = time.monotonic() + seconds
    results = []
    for task in tasks:
        pauses = _pauses(0.1)
        done, result = store.result(task)
        while not done:
            if time.monotonic() > end:
                raise TimeoutError(f"no result of task {task} within {seconds} s")
            time.sleep(next(pauses))
            done, result = store.result(task)
        results.append(result)
    return results


def _pauses(longest=1.0):
    """Yield seconds to wait, longer each time; random, so that workers which began together do not ask together."""
    seconds = 0.005
    while True:
        yield random.uniform(0.75, 1.0) * seconds
        seconds = min(2 * seconds, longest)


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
        """Answer `/take` with a task or nothing, `/renew`, `/give` and `/fail` with whether that counts."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        address = urllib.parse.urlsplit(self.path)
        named = urllib.parse.parse_qsl(address.query)
        query = dict(named)
        if address.path == "/take":
            task = self.store.take([value for name, value in named if name == "client"])
            bodies = [] if task is None else [_bytes(task.computation), _bytes(task.arguments)]
            self._answer(b"" if task is None else pack([task.id, *bodies, *task[3:]]))
        elif address.path == "/renew":
            self._answer(b"1" if self.store.renew(query["task"], int(query["lease"])) else b"0")
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
        """Take the address of the service; of `https`, certificates are checked as Python does by default."""
        address = urllib.parse.urlsplit(url)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        if address.scheme not in kinds:
            raise ValueError(f"the address of a store must begin with http:// or https://: {url}")
        self._connection, self._host = kinds[address.scheme], address.netloc
        self._below = address.path.rstrip("/")

    def take(self, clients=()):
        """Lease a task, as `TaskStore.take` does."""
        content = self._post("/take", [("client", client) for client in clients])
        if not content:
            return None
        task, computation, arguments, *others = unpack(content)
        return Task(task, computation.tobytes(), arguments.tobytes(), *others)

    def renew(self, task, lease):
        """Renew a lease, as `TaskStore.renew` does."""
        return self._post("/renew", [("task", task), ("lease", lease)]) == b"1"

    def give(self, task, result=b"", error=None):
        """Note a result or an error, as `TaskStore.give` does."""
        path, content = ("/give", result) if error is None else ("/fail", error.encode("utf-8", "replace"))
        return self._post(path, [("task", task)], content) == b"1"

    def _post(self, path, named, content=b""):
        path = self._below + path
        with contextlib.closing(self._connection(self._host, timeout=30)) as connection:
            connection.request("POST", path + "?" + urllib.parse.urlencode(named) if named else path, content)
            answer = connection.getresponse()
            content = answer.read()
        if answer.status != 200:
            # A proxy says 502 to 504 while the store behind it is away; what the store refuses, it refuses for ever.
            kind = OSError if answer.status >= 500 else RuntimeError
            raise kind(f"the store answered {answer.status} to {path}")
        return content


def _bytes(content):
    return np.frombuffer(content, np.uint8)


# Values as bytes: arrays in NumPy's own format, which runs no code when it is read, and their structure as JSON.


def pack(value):
    """Return bytes for a structure of arrays, numbers, strings, bytes, mappings, sequences and datasets."""
    arrays = []
    shape = json.dumps(_shape(value, arrays)).encode("utf-8")
    out = io.BytesIO()
    np.savez(out, *arrays, shape=_bytes(shape))
    return out.getvalue()


def unpack(content, local=None):
    """Return the structure that the bytes hold; whatever had named parts is an ordered mapping now.

    `local` is a function that returns what `LOCAL` stands for.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return _value(json.loads(arrays["shape"].tobytes().decode("utf-8")), arrays, local)


def _shape(value, arrays):
    if type(value).__name__ == "Struct":
        # The library's own structure, of which old releases export no functions.
        elements = sys.modules[type(value).__module__].to_elements(value)
        value = collections.OrderedDict(elements) if any(name for name, _ in elements) else [v for _, v in elements]
    if value is LOCAL:
        return {"local": None}
    if hasattr(value, "numpy"):  # a tensor
        value = value.numpy()
    if isinstance(value, str):
        return {"plain": str(value)}
    if isinstance(value, bytes):  # NumPy's own bytes end where only zeros follow
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if value is None or type(value) in (bool, int, float):
        return {"plain": value}
    named = _named(value)
    if named is not None:
        return {"named": [[name, _shape(part, arrays)] for name, part in named]}
    if isinstance(value, (list, tuple)) or hasattr(value, "element_spec"):
        return {"list": [_shape(part, arrays) for part in value]}
    array = np.asarray(value)
    if array.dtype == object:  # TensorFlow's strings
        strange = [type(part).__name__ for part in array.flat if not isinstance(part, (bytes, str))]
        if strange:
            raise TypeError(f"cannot pack a {strange[0]}")
        return {"texts": [list(array.shape), [_shape(part, arrays) for part in array.flat]]}
    # NumPy's format has no name for number types that are not NumPy's, such as bfloat16.
    name = "" if array.dtype.type.__module__ == "numpy" else array.dtype.name
    arrays.append(array.view(f"u{array.dtype.itemsize}") if name else array)
    return {"array": [f"arr_{len(arrays) - 1}", name]}


def _named(value):
    """Return names and parts of a mapping, a named tuple or a class with fields; None for what has no names."""
    if isinstance(value, collections.abc.Mapping):
        return list(value.items())
    for fields in ("_fields", "__attrs_attrs__", "__dataclass_fields__"):
        if hasattr(value, fields):
            names = [getattr(field, "name", field) for field in getattr(value, fields)]
            return [(name, getattr(value, name)) for name in names]
    return None


def _value(shape, arrays, local):
    ((kind, content),) = shape.items()
    if kind == "named":
        return collections.OrderedDict((name, _value(part, arrays, local)) for name, part in content)
    if kind == "list":
        return [_value(part, arrays, local) for part in content]
    if kind == "local":
        if local is None:
            raise ValueError("LOCAL stands for data that is elsewhere")
        return local()
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "texts":
        texts = np.empty(content[0], object)
        texts.ravel()[:] = [_value(part, arrays, local) for part in content[1]]
        return texts[()]
    if kind == "array":
        array = arrays[content[0]]
        return (array.view(_number_type(content[1])) if content[1] else array)[()]
    return content


def _number_type(name):
    """Return a number type that NumPy has not itself: TensorFlow's where there is one, as older ones know no other."""
    try:
        import tensorflow as tf

        return np.dtype(tf.as_dtype(name).as_numpy_dtype)
    except (ImportError, TypeError):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


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


def work_once(store, known, clients=(), data=None, patience=0.0):
    """Take a task, run it and give its result; return whether there was one.

    `known` maps serialised computations to computations. It only saves time: a worker keeps nothing else of a task.
    `data` is a function that returns the data of a client. A store that is away is waited for `patience` seconds.
    """
    task = _reached(lambda: store.take(clients=clients), patience)
    if task is None:
        return False
    result, error = None, None
    try:
        if task.computation not in known:
            known[task.computation] = deserialized(task.computation)
        with _renewed(store, task):
            result = pack(known[task.computation](*unpack(task.arguments, lambda: _data_of(task.client, data))))
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"[:10000]
    _reached(lambda: store.give(task.id, result, error), patience)
    return True


def _data_of(client, data):
    if data is None or client is None:
        raise ValueError(f"this worker has no data for the client {client!r}")
    return data(client)


@contextlib.contextmanager
def _renewed(store, task):
    """Renew the lease of a task until the block ends."""
    done = threading.Event()

    def renew():
        while not done.wait(task.seconds / 3):
            with contextlib.suppress(*_AWAY):  # it may be back before the lease ends
                store.renew(task.id, task.lease)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _reached(call, patience):
    """Return what a call of the store returns; while the store is away, call again for so many seconds."""
    end, pauses = time.monotonic() + patience, _pauses()
    while True:
        try:
            return call()
        except _AWAY:
            if time.monotonic() >= end:
                raise
            time.sleep(next(pauses))


def work(store, seconds, clients=(), data=None, patience=60.0, known=None):
    """Take tasks and give their results for so many seconds, or until the store has been away for `patience` seconds.

    Returns whether the store could be reached at all.
    """
    known = {} if known is None else known
    end, pauses, was_reached = time.monotonic() + seconds, _pauses(), False
    with contextlib.suppress(*_AWAY):
        while time.monotonic() < end:
            worked = work_once(store, known, clients, data, patience)
            was_reached = True
            if worked:
                pauses = _pauses()
            else:
                time.sleep(next(pauses))
    return was_reached


def main(arguments=None):
    """Work for the store that the command line names."""
    parser = argparse.ArgumentParser(description="Pull tasks from a store, run them, and give the results back.")
    parser.add_argument("store", help="the address of a service, or the path of an sqlite file")
    parser.add_argument("--seconds", type=float, default=3600.0, help="how long to work")
    parser.add_argument("--patience", type=float, default=60.0, help="how long to wait for a store that is away")
    parser.add_argument("--client", action="append", default=[], help="whose tasks to take, too; may be repeated")
    parser.add_argument("--data", help="a Python file with a function `data(client)`")
    options = parser.parse_args(arguments)
    # A shell's background job ignores this signal, and would hand that down to the process that the library starts and
    # stops by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "://" in options.store:
        store = ServedStore(options.store)
    elif os.path.exists(options.store):
        store = TaskStore(options.store)
    else:
        parser.error(f"there is no file {options.store}")
    data = runpy.run_path(options.data)["data"] if options.data else None
    if not work(store, options.seconds, options.client, data, options.patience):
        parser.exit(1, f"the store {options.store} could not be reached\n")


if __name__ == "__main__":
    main()
