"""Carry the calls of an executor service to a leaf that nobody can dial: it pulls them, as bytes that nobody reads.

The relay stands where clients can reach it, and takes their gRPC calls. The leaf dials out to it, calls the service
that runs beside the leaf, and sends the answers back. Calls are passed on at most once, because an executor keeps
state: when the leaf is lost, what waits for it fails with a named error after `seconds`, and nothing is tried again.

    with relayed(grpc_port=8000, seconds=60) as url: ...      # where clients can dial
    python relay.py <url> localhost:9000                      # beside the executor service

The relay sees the single responses of an executor. Where those must stay private, let the pieces of a MapReduce form
be pulled instead (`task_store.py`).
"""

import concurrent.futures
import contextlib
import http.client
import http.server
import json
import queue
import sys
import threading
import urllib.parse

import grpc

_PULL_SECONDS = 5
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class _Call:
    def __init__(self, method, request):
        self.method = method
        self.request = request
        self.answer = concurrent.futures.Future()


class _Relay(grpc.GenericRpcHandler):
    """Takes every call that has one request and one response, and holds it until the leaf has answered."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._waiting = queue.Queue()
        self._pulled = {}

    def service(self, handler_call_details):
        """Return the handler of one method: bytes in, bytes out."""
        method = handler_call_details.method
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self._carry(method, request, context))

    def _carry(self, method, request, context):
        call = _Call(method, request)
        self._waiting.put(call)
        try:
            code, content = call.answer.result(self._seconds)
        except concurrent.futures.TimeoutError:
            call.answer.cancel()
            # Of the codes that tell of this, the one that no release of the library takes for a reason to try again.
            context.abort(grpc.StatusCode.ABORTED, f"no leaf answered {method} within {self._seconds} s")
        if code:
            context.abort(_CODES[code], content.decode("utf-8", "replace"))
        return content

    def pull(self):
        """Return the next call and its number; None when none comes for a while."""
        try:
            call = self._waiting.get(timeout=_PULL_SECONDS)
        except queue.Empty:
            return None
        if not call.answer.set_running_or_notify_cancel():
            return self.pull()
        self._pulled[id(call)] = call
        return id(call), call

    def push(self, number, code, content):
        """Pass the answer to a call on to whoever waits for it."""
        call = self._pulled.pop(number, None)
        if call is not None:
            call.answer.set_result((code, content))


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout = 30
    relay = None

    def do_POST(self):
        """Answer `/pull` with a call or nothing, and take the answer to one from `/push`."""
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        address = urllib.parse.urlsplit(self.path)
        if address.path == "/push":
            query = dict(urllib.parse.parse_qsl(address.query))
            self.relay.push(int(query["call"]), int(query["code"]), content)
            pulled = None
        else:
            pulled = self.relay.pull()
        head = [0, ""] if pulled is None else [pulled[0], pulled[1].method]
        body = json.dumps(head).encode("ascii") + b"\n" + (b"" if pulled is None else pulled[1].request)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Say nothing on standard error."""


@contextlib.contextmanager
def relayed(grpc_port, seconds=60, threads=16):
    """Take gRPC calls on a port of the loopback interface until the block ends; return the address for the leaf."""
    relay = _Relay(seconds)
    service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"relay": relay}))
    thread = threading.Thread(target=service.serve_forever, args=(0.05,))
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        server = grpc.server(pool, handlers=[relay])
        server.add_insecure_port(f"127.0.0.1:{grpc_port}")
        server.start()
        thread.start()
        try:
            yield f"http://127.0.0.1:{service.server_address[1]}"
        finally:
            server.stop(0).wait(10)
            service.shutdown()
            thread.join()
            service.server_close()


def leaf(url, target, threads=8):
    """Pull calls from a relay and pass them on to the service at the target, until the relay is gone."""
    with grpc.insecure_channel(target) as channel:
        workers = [threading.Thread(target=_pull_and_push, args=(url, channel)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def _pull_and_push(url, channel):
    with contextlib.suppress(OSError, http.client.HTTPException):
        while True:
            head, _, request = _post(url, "/pull").partition(b"\n")
            number, method = json.loads(head.decode("ascii"))
            if not method:
                continue
            code, content = 0, b""
            try:
                content = channel.unary_unary(method)(request, timeout=600)
            except grpc.RpcError as error:
                code, content = error.code().value[0], (error.details() or "").encode("utf-8")
            _post(url, f"/push?call={number}&code={code}", content)


def _post(url, path, content=b""):
    with contextlib.closing(http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)) as connection:
        connection.request("POST", path, content)
        return connection.getresponse().read()


if __name__ == "__main__":
    leaf(sys.argv[1], sys.argv[2])
