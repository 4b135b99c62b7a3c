"""The peers of compare.py: how each is installed, how rows are given to it, and how it is run. Each has the settings that its
documentation recommends for many short jobs that wait for the network; among those, the ones that sent most on two cores."""

import os
import subprocess

PAYLOAD = '{"aps":{"alert":{"title":"Carillon","body":"Twelve and all is well."},"badge":1,"sound":"default"}}'


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("%s: %s" % (command[0], done.stderr))
    return done.stdout.strip()


class Peer:
    """`insert` makes jobs of the rows r, which have tokens; `open` selects jobs that have not ended; `pushes` is how many a
    measurement has, by the tokens of a row: some ten seconds of them."""

    processes = 1

    def __init__(self, folder, carillon):
        self.folder, self.carillon = folder, carillon

    def missing(self):
        """Why it cannot be run; None if it can be."""
        return None if os.access(self.program, os.X_OK) else "%s is missing, see above" % os.path.relpath(self.program)


class Carillon(Peer):
    name = "Carillon"
    settings = "its defaults: one worker, four connections, 8,000 pushes in flight"
    pushes = {1: 600_000, 1000: 1_500_000}
    insert = (
        "INSERT INTO carillon.messages (app_id, tokens, payload) "
        "SELECT a.id, r.tokens, '%s' FROM carillon.apps a, r" % PAYLOAD
    )
    open = " UNION ALL ".join("SELECT FROM carillon." + table for table in ("messages", "scheduled", "inflight", "unfinished"))
    tables = "carillon.messages"
    program = property(lambda self: self.carillon)

    def command(self, tokens):
        return [self.carillon, "worker", "--log-level", "warning"]

    def install(self, sql):
        run(self.carillon, "migrate", "up")
        key = ("--file", os.environ["PEERS_KEY"], "--key-id", "PEERS12345", "--team-id", "TEAM567890", "--yes")
        run(self.carillon, "credential", "import", "peers", *key)
        gateway = ("--gateway", "localhost:" + os.environ["PEERS_PORT"], "--gateway-ca", os.environ["PEERS_CERTIFICATE"])
        run(self.carillon, "app", "add", "peers", "--topic", os.environ["PEERS_TOPIC"], "--credential", "peers", *gateway)

    def version(self):
        return run(self.carillon, "version").splitlines()[0]


class Go(Peer):
    name = "Go, net/http and lib/pq"
    settings = "one program, two connections of 1,000 streams, claims of 2,000 pushes, LISTEN and a look each second"
    pushes = {1: 150_000, 1000: 200_000}
    insert = "INSERT INTO plain_jobs (tokens, payload) SELECT r.tokens, '%s' FROM r" % PAYLOAD
    open = "SELECT FROM plain_jobs WHERE sent_at IS NULL"
    tables = "plain_jobs"
    program = property(lambda self: self.folder + "/worker")

    def command(self, tokens):
        return [self.program]

    def install(self, sql):
        sql(
            "CREATE TABLE plain_jobs (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tokens text[] NOT NULL, "
            "payload text NOT NULL, claimed_until timestamptz, sent_at timestamptz) WITH (fillfactor = 70); "
            "CREATE INDEX ON plain_jobs (id) WHERE sent_at IS NULL; "
            "CREATE FUNCTION plain_wake() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN PERFORM pg_notify('plain_jobs', ''); RETURN NULL; END$$; "
            "CREATE TRIGGER wake AFTER INSERT ON plain_jobs FOR EACH STATEMENT EXECUTE FUNCTION plain_wake()"
        )

    def version(self):
        return run(self.program, "version")


class Python(Peer):
    """A program in Python uses one processor, so there are as many as processors."""

    processes = os.cpu_count()
    program = property(lambda self: self.folder + "/python/bin/" + self.tool)
    python = property(lambda self: self.folder + "/python/bin/python")

    def version(self):
        code = "import importlib.metadata as m, sys; print(*(p + ' ' + m.version(p) for p in sys.argv[1:]), sep=', ')"
        return run(self.python, "-c", code, self.package, "aioapns", "uvloop")


class Procrastinate(Python):
    name = "procrastinate, aioapns"
    package = tool = "procrastinate"
    processes = 2 * Python.processes  # each claims one job at a time, and waits for the disk
    settings = "two workers for each core, --concurrency 30 (2 for rows of 1,000), --delete-jobs successful, 8 connections"
    pushes = {1: 10_000, 1000: 30_000}
    insert = (
        "INSERT INTO procrastinate_jobs (queue_name, task_name, args) "
        "SELECT 'pushes', 'push', jsonb_build_object('tokens', r.tokens, 'payload', '%s'::jsonb) FROM r" % PAYLOAD
    )
    open = "SELECT FROM procrastinate_jobs WHERE task_name = 'push' AND status IN ('todo', 'doing')"
    tables = "procrastinate_jobs, procrastinate_events"

    def start(self, *words):
        """Its own program, with the event loop of push.py."""
        code = "import push; from procrastinate.cli import main; main()"
        return [self.python, "-c", code, "--app", "procrastinate_worker.app", "--log-level", "warning", *words]

    def command(self, tokens):
        return self.start("worker", "--concurrency", "30" if tokens == 1 else "2", "--delete-jobs", "successful")

    def install(self, sql):
        run(*self.start("schema", "--apply"))


class PgQueuer(Python):
    name = "pgqueuer, aioapns"
    package, tool = "pgqueuer", "pgq"
    settings = "a worker for each core, batch_size 500, max_concurrent_tasks 1000 (1 and 2 for rows of 1,000), asyncpg"
    pushes = {1: 30_000, 1000: 30_000}
    # What its enqueue() does, with the entry in its log.
    insert = (
        ", inserted AS (INSERT INTO pgqueuer (priority, entrypoint, payload, status) SELECT 0, 'push', "
        "convert_to(json_build_object('tokens', r.tokens, 'payload', '%s'::json)::text, 'UTF8'), 'queued' "
        "FROM r RETURNING id, entrypoint, priority) "
        "INSERT INTO pgqueuer_log (job_id, status, entrypoint, priority) SELECT id, 'queued', entrypoint, priority FROM inserted"
        % PAYLOAD
    )
    open = "SELECT FROM pgqueuer"
    tables = "pgqueuer, pgqueuer_log"

    def command(self, tokens):
        sizes = ("500", "1000") if tokens == 1 else ("1", "2")
        return [self.python, os.path.dirname(__file__) + "/pgqueuer_worker.py", *sizes]

    def install(self, sql):
        sql(run(self.program, "sql", "install"))


class Absent:
    """What `make peers` has no program for, since it comes from a registry that nothing is installed from."""

    def __init__(self, name, why):
        self.name, self.why = name, why

    def missing(self):
        return self.why


def all_peers(folder, carillon):
    return [kind(folder, carillon) for kind in (Carillon, Go, Procrastinate, PgQueuer)] + [
        Absent("River", "it comes from the proxy of Go modules, which is not used here; the worker in Go stands for it"),
        Absent("rpush", "it is a gem, and RubyGems is not used here"),
        Absent("action_push_native", "it is a gem, and RubyGems is not used here"),
        Absent("graphile-worker", "it is a package of npm, and npm is not used here"),
    ]
