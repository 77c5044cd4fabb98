"""A collector: releases come in over HTTP, and DuckDB makes Parquet of them. Simulated devices send to it.

    collector.py FOLDER [--devices N]     writes topics.pack, topics.candidates.safetensors and releases.parquet

Needs the packages undertone (ffi/python) and duckdb.
"""

import argparse
import http.client
import http.server
import multiprocessing
import os
import socketserver
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DAYS = [f"2026-11-0{number}" for number in range(1, 8)]


class Collector(http.server.BaseHTTPRequestHandler):
    """POST /DAY with the 24 bytes of a release appends a line to DAY.jsonl. Nothing else is kept."""

    def do_POST(self):
        day, length = self.path[1:], self.headers.get("content-length")
        if day not in DAYS or length != "24":
            return self.answer(400)
        line = b'{"day":"%b","release":"%b"}\n' % (day.encode(), self.rfile.read(24).hex().encode())
        os.write(self.server.files[day], line)  # one write: lines of several threads do not mix
        self.answer(204)

    def answer(self, status):
        self.send_response_only(status)
        self.end_headers()

    def log_message(self, *_):
        """No log: it would have the address of each device."""


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 256


def serve(folder, ready):
    server = Server(("127.0.0.1", 0), Collector)
    server.files = {day: os.open(folder / f"{day}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644) for day in DAYS}
    ready.send(server.server_port)
    server.serve_forever()


def send(port, day, release):
    """A device: one connection for one release."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", f"/{day}", release)
    status = connection.getresponse().status
    connection.close()
    return status == 204


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--devices", type=int, default=100_000)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    ours, theirs = multiprocessing.Pipe()
    collector = multiprocessing.Process(target=serve, args=(options.folder, theirs), daemon=True)
    collector.start()
    port = ours.recv()

    import duckdb
    import undertone as ut

    public = ut.demo.public()
    built = ut.build_pack(public.texts, public.labels, heads="features")
    built.save(options.folder / "topics.pack")
    texts = ut.demo.private(options.devices).texts
    releases = [bytes(release) for release in ut.privatize(texts, built.pack, epsilon=3)]
    days = [DAYS[place % len(DAYS)] for place in range(len(releases))]
    start = time.monotonic()
    with ThreadPoolExecutor(4) as devices:
        taken = sum(devices.map(send, [port] * len(releases), days, releases))
    hour = taken / (time.monotonic() - start) * 3600
    print(f"{taken} of {len(releases)} releases collected, {hour / 1e6:.1f} million an hour")
    collector.terminate()

    lines, parquet = options.folder / "*.jsonl", options.folder / "releases.parquet"
    duckdb.sql(f"COPY (SELECT from_hex(release) AS release, day::VARCHAR AS day FROM '{lines}') TO '{parquet}'")


if __name__ == "__main__":
    main()
