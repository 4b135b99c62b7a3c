"""Carillon and other ways to send rows of PostgreSQL to Apple, one after the other: the same server, gateway, rows and payload.
.ci/peers starts this, with the database in PG*, and in PEERS_*: the folder of what was built, the program carillon, a folder for
temporary files, the process of the server, and what it was called with.

Rows are committed before their workers start. The gateway holds its answers back until the workers have sent all that they send
without an answer; then it opens, and the measurement begins. So neither a program's start nor the insertion of rows counts."""

import contextlib
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time

from peers import PAYLOAD, all_peers

FOLDER, CARILLON, TEMPORARY = (os.environ["PEERS_" + name] for name in ("FOLDER", "CARILLON", "TEMPORARY"))
SERVER, SCALE = int(os.environ["PEERS_SERVER"]), float(os.environ["PEERS_SCALE"] or 1)
SINGLE = 4 << 20  # the number of the first push of the rows that are committed one at a time
STILL = 120  # seconds without a new push after which what has not come counts as lost
AUTHORIZATION = "bearer " + "a" * 180  # as long as a provider token; the gateway looks at none


class Gateway:
    def __init__(self):
        command = [FOLDER + "/gateway", TEMPORARY + "/certificate.pem", TEMPORARY + "/key.pem"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().strip()

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def requests(self):
        return self.ask("report")[0]

    def pushes(self):
        return self.ask("report")[1]


class Session:
    """One session of psql."""

    def __init__(self):
        command = ["psql", "-qtAX", "-v", "ON_ERROR_STOP=1"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, sql):
        self.process.stdin.write(sql + ";\n\\echo .\n")
        self.process.stdin.flush()
        lines = []
        for line in iter(self.process.stdout.readline, ""):
            if line == ".\n":
                return "\n".join(lines)
            lines.append(line.strip())
        raise RuntimeError("psql has ended, in: " + sql[:200])


def ticks(process, count=2):
    """Seconds of processor time of a process; of those that it has waited for, too, if count is 4. 0: it has ended."""
    try:
        with open("/proc/%d/stat" % process) as file:
            fields = file.read().rpartition(")")[2].split()[11:11 + count]
        return sum(map(int, fields)) / os.sysconf("SC_CLK_TCK")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def server_time():
    with open("/proc/%d/task/%d/children" % (SERVER, SERVER)) as file:
        return ticks(SERVER, 4) + sum(ticks(int(process)) for process in file.read().split())


class Comparison:
    def __init__(self):
        self.gateway, self.session, self.random = Gateway(), Session(), random.Random(1)
        self.running = []
        os.environ.update(
            PEERS_PORT=self.gateway.port, PEERS_CERTIFICATE=TEMPORARY + "/certificate.pem", PEERS_KEY=TEMPORARY + "/key.pem",
            PEERS_TOPIC="com.example.peers", PEERS_AUTHORIZATION=AUTHORIZATION,
        )

    # Rows

    def insert(self, peer, first, rows, tokens):
        """Commits rows, whose pushes are numbered from `first`."""
        self.session.run(
            "WITH r AS (SELECT array_agg(lpad(to_hex(%d + r * %d + t), 64, '0')) AS tokens FROM generate_series(0, %d) r, "
            "generate_series(0, %d) t GROUP BY r ORDER BY r) " % (first, tokens, rows - 1, tokens - 1) + peer.insert
        )

    def prepare(self, peer, tokens, latency):
        """Commits the rows of a measurement; returns how many pushes they are."""
        rows = max(10_000, int(peer.pushes[tokens] * SCALE)) // tokens
        self.insert(peer, 0, rows, tokens)
        self.session.run("VACUUM ANALYZE " + peer.tables)  # what the server would do during the measurement, it does now
        self.session.run("CHECKPOINT")
        self.gateway.ask("reset %d" % latency)
        return rows * tokens

    def has_open_jobs(self, peer):
        return self.session.run("SELECT EXISTS (%s)" % peer.open) == "t"

    def wal(self):
        return int(self.session.run("SELECT pg_current_wal_insert_lsn() - '0/0'"))

    # Workers

    def start(self, peer, tokens):
        command = ["setpriv", "--pdeathsig", "KILL"] + peer.command(tokens)
        with open("%s/%s.log" % (FOLDER, peer.name.split(",")[0]), "a") as log:
            for _ in range(peer.processes):
                self.running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def kill(self):
        for worker in self.running:
            worker.kill()
            worker.wait()
        self.running = []

    @contextlib.contextmanager
    def workers(self, peer, tokens):
        self.start(peer, tokens)
        try:
            yield
            for worker in self.running:
                worker.terminate()
            end = time.time() + 15
            while time.time() < end and any(worker.poll() is None for worker in self.running):
                time.sleep(0.05)
        finally:
            self.kill()

    def wait(self, peer, done, seconds=60, pause=0.02):
        end = time.time() + seconds
        while not done():
            if time.time() > end or any(worker.poll() is not None for worker in self.running):
                raise RuntimeError("%s has ended or took longer than %d s; its log is in %s" % (peer.name, seconds, FOLDER))
            time.sleep(pause)

    def until_done(self, peer):
        self.wait(peer, lambda: not self.has_open_jobs(peer), pause=0.2)

    # Measurements

    def reading(self):
        return [sum(ticks(worker.pid) for worker in self.running), server_time(), ticks(self.gateway.process.pid), self.wal()]

    def drain(self, peer, tokens, latency):
        total = self.prepare(peer, tokens, latency)
        with self.workers(peer, tokens):
            self.wait(peer, lambda: self.gateway.requests() > 0)
            held = 0
            while held != self.gateway.requests():
                held = self.gateway.requests()
                # The workers hold all that they will when a second brings no request; no peer says so itself.
                time.sleep(1)
            before = self.reading()
            start, held = self.gateway.ask("open")
            self.wait(peer, lambda: self.gateway.pushes() == total, seconds=600)
            requests, pushes, end = self.gateway.ask("report")
            self.until_done(peer)
            worker, server, gateway, wal = (after - earlier for after, earlier in zip(self.reading(), before))
        count = total - held
        return {
            "rate": count / (end - start) * 1e6, "worker": worker / count * 1e6, "postgres": server / count * 1e6,
            "gateway": gateway / count * 1e6, "wal": wal / count, "pushes": total, "repeated": requests - pushes,
        }

    def latency(self, peer, tokens, latency):
        """From commit to gateway, of each push of single rows, in milliseconds."""
        rows, gap = (100, 0.4) if tokens == 1 else (20, 1)
        rows = max(5, int(rows * min(1, SCALE)))
        self.gateway.ask("reset %d" % latency)
        self.gateway.ask("open")
        with self.workers(peer, tokens):
            sent, commits = 0, []
            for row in range(-10, rows):  # the first ones open connections, and do not count
                if row >= 0:
                    time.sleep(gap * self.random.uniform(0.5, 1.5))
                self.insert(peer, SINGLE + sent, 1, tokens)
                commits.append(time.time() * 1e6)
                sent += tokens
                if row < 0:
                    self.wait(peer, lambda: self.gateway.pushes() == sent)
            self.wait(peer, lambda: self.gateway.pushes() == sent)
            self.until_done(peer)
        arrivals = self.gateway.ask("arrivals %d %d" % (SINGLE, sent))
        late = [max(0, arrival - commits[number // tokens]) / 1000 for number, arrival in enumerate(arrivals)][10 * tokens:]
        late.sort()
        return {"p50": late[len(late) // 2], "p99": late[int(len(late) * 0.99)]}

    def crash(self, peer, tokens, latency):
        """All workers are killed in the middle, and as many started again at once. `overtaken` is the longest time by which a push
        came after one that had been enqueued later: how long the jobs of the killed workers stood still."""
        total = self.prepare(peer, tokens, latency)
        self.gateway.ask("open")
        self.start(peer, tokens)
        try:
            self.wait(peer, lambda: self.gateway.pushes() >= total / 2, seconds=300)
        finally:
            self.kill()
        with self.workers(peer, tokens):
            seen, since = 0, time.time()
            while self.has_open_jobs(peer) and time.time() < since + STILL:
                time.sleep(0.1)
                if seen != self.gateway.requests():
                    seen, since = self.gateway.requests(), time.time()
        requests, pushes, _ = self.gateway.ask("report")
        overtaken, later = 0, float("inf")
        for arrival in reversed(self.gateway.ask("arrivals 0 %d" % total)):
            later = min(later, arrival or later)
            overtaken = max(overtaken, arrival - later)
        return {"lost": total - pushes, "doubled": requests - pushes, "overtaken": overtaken / 1e6}

    def h2load(self, latency):
        """The limit of gateway and processors: one path and one apns-id for all requests, and no database."""
        count = int(1_000_000 * min(1, SCALE))
        with open(TEMPORARY + "/payload", "w") as file:
            file.write(PAYLOAD)
        fields = {
            "authorization": AUTHORIZATION, "apns-topic": "com.example.peers", "apns-push-type": "alert", "apns-priority": "10",
            "apns-id": "123e4567-e89b-12d3-a456-426614174000",
        }
        command = ["h2load", "-n", str(count), "-c", "4", "-m", "1000", "-t", "1", "-d", TEMPORARY + "/payload"]
        command += [word for field in fields.items() for word in ("-H", "%s: %s" % field)]
        self.gateway.ask("reset %d" % latency)
        self.gateway.ask("open")
        before, gateway = resource.getrusage(resource.RUSAGE_CHILDREN), ticks(self.gateway.process.pid)
        command.append("https://127.0.0.1:%s/3/device/%064x" % (self.gateway.port, 1))
        said = subprocess.run(command, capture_output=True, text=True).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if "%d 2xx" % count not in said:
            raise RuntimeError("h2load did not get its answers:\n" + said)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {
            "rate": float(re.search(r"([0-9.]+) req/s", said).group(1)), "worker": used / count * 1e6,
            "gateway": (ticks(self.gateway.process.pid) - gateway) / count * 1e6,
        }


COLUMNS = {  # heading, width and form of each figure
    "rate": ("pushes/s", 9, "%d"), "p50": ("p50 ms", 8, "%.1f"), "p99": ("p99 ms", 8, "%.1f"), "worker": ("worker µs", 10, "%.1f"),
    "postgres": ("PostgreSQL µs", 14, "%.1f"), "wal": ("WAL B", 7, "%d"), "lost": ("lost", 6, "%d"),
    "doubled": ("doubled", 8, "%d"), "overtaken": ("overtaken s", 12, "%.1f"),
}


def show(name, tokens, latency, row):
    cells = (("%*s" % (width, form % row[key] if key in row else "")) for key, (_, width, form) in COLUMNS.items())
    print("%-24s%6d%6d" % (name, tokens, latency), *cells, sep="", flush=True)


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    only = os.environ["PEERS_ONLY"].split()
    is_wanted = lambda name: not only or name.split(",")[0] in only
    comparison = Comparison()
    with open("/proc/cpuinfo") as file:
        processor = re.search("model name\\s*: (.*)", file.read())
    machine = (os.cpu_count(), processor and processor.group(1), comparison.session.run("SHOW server_version").split()[0])
    record = {"machine": "%d cores (%s), PostgreSQL %s with fsync" % machine, "commit": os.environ["COMMIT"], "scale": SCALE}
    print("commit %(commit)s, %(machine)s" % record)
    record |= {"peers": [], "missing": [], "rows": []}
    peers = []
    for peer in filter(lambda peer: is_wanted(peer.name), all_peers(FOLDER, CARILLON)):
        why = peer.missing()
        if why:
            print("SKIPPED: %s: %s" % (peer.name, why))
            record["missing"].append({"peer": peer.name, "why": why})
            continue
        peer.install(comparison.session.run)
        peers.append(peer)
        record["peers"].append({"peer": peer.name, "version": peer.version(), "settings": peer.settings})
    print("%-24s%6s%6s" % ("", "tokens", "away"), *("%*s" % (width, head) for head, width, _ in COLUMNS.values()), sep="")
    has_failed = False
    for tokens, latency in ((1, 0), (1, 20), (1000, 0), (1000, 20)):
        for peer in peers:
            try:
                row = {"peer": peer.name, "tokens": tokens, "latency": latency}
                for measure in (comparison.drain, comparison.latency, comparison.crash):
                    row |= measure(peer, tokens, latency)
                record["rows"].append(row)
                show(peer.name, tokens, latency, row)
            except RuntimeError as error:
                has_failed = True
                print("FAILED:", error, flush=True)
        if tokens == 1 and is_wanted("h2load"):
            row = {"peer": "h2load", "tokens": tokens, "latency": latency} | comparison.h2load(latency)
            record["rows"].append(row)
            show("h2load", tokens, latency, row)
    if os.environ["PEERS_RECORD"] and not has_failed:
        for row in record["rows"]:
            row.update({key: float("%.4g" % value) for key, value in row.items() if isinstance(value, float)})
        with open(os.environ["PEERS_RECORD"], "w") as file:
            json.dump(record, file, indent=2, ensure_ascii=False)
            file.write("\n")
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
