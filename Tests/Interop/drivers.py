"""Runs the table of cases for every Python driver.

One line a case goes to standard output: "ok" or "FAILED", driver, case, and what went wrong, separated by tabs.
The database is where PGHOST, PGPORT, PGUSER and PGDATABASE say. It holds the schema and an app named 'demo'.
"""

import asyncio
import datetime
import importlib
import json
import os
import sys

ALERT = {"title": "Hello", "body": "a, b: c"}
PAYLOAD = {"aps": {"alert": ALERT}, "k": [1, 2.5, None]}
EXTRA = {"order": {"id": 7}}
TOKENS = ["ab" * 32, "cd" * 32]
# A token that nobody has registered: its badge is counted from 0 each time.
UNKNOWN = ["ef" * 32]
LATER = datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc)
WHERE = {
    "host": os.environ["PGHOST"],
    "port": int(os.environ["PGPORT"]),
    "user": os.environ["PGUSER"],
    "database": os.environ["PGDATABASE"],
}


def cases(driver):
    """What is called, by name: the function, its arguments, and the row that should come of it (None: no row)."""
    alert = {"aps": {"alert": ALERT}}
    for label, value in driver.json_values(ALERT):
        yield "alert " + label, "enqueue", {"tokens": TOKENS, "alert": value}, {"payload": alert}
        yield "broadcast " + label, "broadcast", {"alert": value}, {"payload": alert, "lane": 2}
    for label, value in driver.json_values(PAYLOAD):
        yield "payload " + label, "enqueue", {"tokens": TOKENS, "payload": value}, {"payload": PAYLOAD}
    for label, values in driver.json_lists([{"aps": {"alert": "one"}}, PAYLOAD]):
        yield "payloads " + label, "enqueue", {"tokens": TOKENS, "payloads": values}, {"payload": PAYLOAD, "payloads": 2}
    for label, wrap in driver.integers():
        yield (
            "counted badge " + label,
            "enqueue",
            {"tokens": UNKNOWN, "alert": "x", "badge_add": wrap(3)},
            {"payload": {"aps": {"alert": "x", "badge": 3}}},
        )
    yield "alert", "enqueue", {"tokens": TOKENS, "alert": "Hello"}, {"payload": {"aps": {"alert": "Hello"}}}
    yield (
        "lines",
        "enqueue",
        {"tokens": TOKENS, "title": "T", "subtitle": "S", "body": "{B}"},
        {"payload": {"aps": {"alert": {"title": "T", "subtitle": "S", "body": "{B}"}}}},
    )
    for label, wrap in driver.integers():
        yield (
            "numbers " + label,
            "enqueue",
            {"tokens": TOKENS, "alert": "x", "badge": wrap(1), "priority": wrap(5), "lane": wrap(0)},
            {"payload": {"aps": {"alert": "x", "badge": 1}}, "priority": 5, "lane": 0},
        )
    yield (
        "large number",
        "enqueue",
        {"tokens": TOKENS, "alert": "x", "badge": 2147483647},
        {"payload": {"aps": {"alert": "x", "badge": 2147483647}}},
    )
    nothing = [
        "badge", "sound", "content_available", "mutable_content", "category", "thread_id", "extra", "payload", "push_type",
        "priority", "expires_at", "collapse_id", "topic", "run_at", "lane", "reference", "dedupe_key", "dedupe_for",
        "title", "subtitle", "body", "strict",
    ]
    yield (
        "nulls",
        "enqueue",
        {"tokens": TOKENS, "alert": "x", **dict.fromkeys(nothing)},
        {"payload": {"aps": {"alert": "x"}}, "lane": 1},
    )
    if driver.binds_empty_lists:
        yield "no tokens", "enqueue", {"tokens": [], "alert": "x"}, None
    if driver.binds_jsonb:
        yield (
            "extra",
            "enqueue",
            {"tokens": TOKENS, "alert": "x", "extra": driver.jsonb(EXTRA)},
            {"payload": {"aps": {"alert": "x"}, **EXTRA}},
        )
    yield (
        "times and flags",
        "enqueue",
        {
            "tokens": TOKENS, "alert": "x", "expires_at": LATER, "content_available": True,
            "dedupe_key": f"{driver.name} {driver.version}", "dedupe_for": datetime.timedelta(hours=1),
        },
        {"payload": {"aps": {"alert": "x", "content-available": 1}}, "expires": True},
    )


class Driver:
    name = ""
    binds_empty_lists = True
    binds_jsonb = True
    binds_jsonb_lists = True

    def json_values(self, value):
        """Every way in which this driver binds JSON, each with its name."""
        yield "as text", json.dumps(value)
        if self.binds_jsonb:
            yield "as jsonb", self.jsonb(value)

    def json_lists(self, values):
        """Every way in which this driver binds a list of JSON."""
        yield "as text", [json.dumps(value) for value in values]
        if self.binds_jsonb_lists:
            yield "as jsonb", [self.jsonb(value) for value in values]

    def integers(self):
        yield "plain", lambda number: number

    def jsonb(self, value):
        return json.dumps(value)

    def call(self, function, arguments):
        names = ["app", *arguments]
        places = [self.place(index + 1, name) for index, name in enumerate(names)]
        named = ", ".join(f"{name} => {place}" for name, place in zip(names, places))
        return self.value(f"SELECT carillon.{function}({named})", ["demo", *arguments.values()])

    def place(self, index, name):
        return "%s"

    def row(self, message):
        text = self.value(
            "SELECT json_build_object('payload', coalesce(m.payload, m.payloads[2]), "
            "'payloads', cardinality(m.payloads), 'lane', m.lane, 'priority', m.priority, 'tokens', m.tokens, "
            f"'expires', m.expires_at IS NOT NULL)::text FROM carillon.messages m WHERE m.id = {int(message)}",
            [],
        )
        return json.loads(text)


class Cursor(Driver):
    """A driver with connections and cursors as PEP 249 has them."""

    def value(self, sql, values):
        cursor = self.connection.cursor()
        try:
            cursor.execute(sql, tuple(values))
            return cursor.fetchone()[0]
        finally:
            self.connection.rollback() if sys.exc_info()[0] else self.connection.commit()
            cursor.close()


class Psycopg3(Cursor):
    name = "psycopg"

    def __init__(self, **options):
        self.psycopg = importlib.import_module("psycopg")
        self.types = importlib.import_module("psycopg.types.json")
        self.numbers = importlib.import_module("psycopg.types.numeric")
        where = {("dbname" if key == "database" else key): value for key, value in WHERE.items()}
        self.connection = self.psycopg.connect(**where, **options)
        self.version = self.psycopg.__version__

    def jsonb(self, value):
        return self.types.Jsonb(value)

    def json_values(self, value):
        yield from super().json_values(value)
        yield "as json", self.types.Json(value)

    def integers(self):
        yield from super().integers()
        for name in ["Int2", "Int4", "Int8"]:
            yield "as " + name, getattr(self.numbers, name)


class Psycopg3Binary(Psycopg3):
    name = "psycopg, binary"

    def place(self, index, name):
        # No binary form of a mixed None and list of nothing is needed: those stay as the driver likes.
        return "%b" if name in ("tokens", "alert", "payload", "extra", "badge", "priority", "lane") else "%s"


class Psycopg3Client(Psycopg3):
    name = "psycopg, bound by the client"

    def __init__(self):
        psycopg = importlib.import_module("psycopg")
        super().__init__(cursor_factory=psycopg.ClientCursor)


class Psycopg2(Cursor):
    name = "psycopg2"

    def __init__(self):
        self.psycopg2 = importlib.import_module("psycopg2")
        self.extras = importlib.import_module("psycopg2.extras")
        self.connection = self.psycopg2.connect(**WHERE)
        self.version = self.psycopg2.__version__.split()[0]

    def jsonb(self, value):
        return self.extras.Json(value)


class Asyncpg(Driver):
    name = "asyncpg"

    def __init__(self):
        self.asyncpg = importlib.import_module("asyncpg")
        self.loop = asyncio.new_event_loop()
        self.connection = self.loop.run_until_complete(self.asyncpg.connect(**WHERE))
        self.version = self.asyncpg.__version__

    def place(self, index, name):
        return f"${index}"

    def value(self, sql, values):
        return self.loop.run_until_complete(self.connection.fetchval(sql, *values))


class AsyncpgCasting(Asyncpg):
    """Says by a cast in the statement what it binds."""

    name = "asyncpg, with casts"

    def place(self, index, name):
        cast = {"payload": "::json", "payloads": "::json[]", "alert": "::jsonb", "extra": "::jsonb", "badge": "::bigint"}.get(name, "")
        return f"${index}{cast}"

    def call(self, function, arguments):
        arguments = dict(arguments)
        if "alert" in arguments:
            text = arguments["alert"]
            arguments["alert"] = text if text.startswith("{") else json.dumps(text)
        return super().call(function, arguments)


class PG8000(Cursor):
    name = "pg8000"

    def __init__(self):
        self.pg8000 = importlib.import_module("pg8000")
        self.version = self.pg8000.__version__
        # Before 1.16 it knew no JSON but as text, no array of it, and none without values.
        self.binds_jsonb = self.binds_jsonb_lists = self.binds_empty_lists = self.version >= "1.16"
        self.connection = self.pg8000.connect(**WHERE)

    def jsonb(self, value):
        return value


class SQLAlchemy(Driver):
    """By text with named parameters, with and without types."""

    name = "sqlalchemy, psycopg"
    dialect = "psycopg"

    def __init__(self):
        self.sqlalchemy = importlib.import_module("sqlalchemy")
        self.postgresql = importlib.import_module("sqlalchemy.dialects.postgresql")
        self.version = self.sqlalchemy.__version__
        self.engine = self.sqlalchemy.create_engine(
            f"postgresql+{self.dialect}://{WHERE['user']}@{WHERE['host']}:{WHERE['port']}/{WHERE['database']}"
        )

    def typed(self, kind, value):
        return self.sqlalchemy.bindparam(None, value, type_=kind)

    def jsonb(self, value):
        return self.typed(self.postgresql.JSONB, value)

    def json_values(self, value):
        yield from super().json_values(value)
        yield "as json", self.typed(self.sqlalchemy.JSON, value)
        yield "as String", self.typed(self.sqlalchemy.String, json.dumps(value))

    def integers(self):
        yield from super().integers()
        for kind in ["SmallInteger", "Integer", "BigInteger"]:
            yield "as " + kind, lambda number, kind=kind: self.typed(getattr(self.sqlalchemy, kind), number)

    def json_lists(self, values):
        yield "as text", [json.dumps(value) for value in values]
        yield "as jsonb", self.typed(self.postgresql.ARRAY(self.postgresql.JSONB), values)

    def call(self, function, arguments):
        tokens = arguments.get("tokens")
        arguments = dict(arguments)
        if tokens is not None:
            arguments["tokens"] = self.typed(self.postgresql.ARRAY(self.sqlalchemy.Text), tokens)
        parameters = []
        for name, value in {"app": "demo", **arguments}.items():
            kind = getattr(value, "type", None)
            parameters.append(self.sqlalchemy.bindparam(name, getattr(value, "value", value), type_=kind))
        named = ", ".join(f"{parameter.key} => :{parameter.key}" for parameter in parameters)
        statement = self.sqlalchemy.text(f"SELECT carillon.{function}({named})").bindparams(*parameters)
        with self.engine.begin() as connection:
            return connection.execute(statement).scalar()

    def value(self, sql, values):
        with self.engine.begin() as connection:
            return connection.execute(self.sqlalchemy.text(sql.replace(":", "\\:"))).scalar()


class Django(Cursor):
    name = "django"

    def __init__(self):
        self.django = importlib.import_module("django")
        settings = importlib.import_module("django.conf").settings
        database = {
            "ENGINE": "django.db.backends.postgresql", "NAME": WHERE["database"], "USER": WHERE["user"],
            "HOST": WHERE["host"], "PORT": WHERE["port"],
        }
        settings.configure(DATABASES={"default": database}, USE_TZ=True)
        self.django.setup()
        self.connection = importlib.import_module("django.db").connection
        self.version = self.django.get_version()

    def value(self, sql, values):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return cursor.fetchone()[0]

    def jsonb(self, value):
        try:
            wrapper = importlib.import_module("django.db.backends.postgresql.psycopg_any").Jsonb
        except ImportError:
            wrapper = importlib.import_module("psycopg2.extras").Json
        return wrapper(value)


class SQLAlchemyPsycopg2(SQLAlchemy):
    name = "sqlalchemy, psycopg2"
    dialect = "psycopg2"


class SQLAlchemyPG8000(SQLAlchemy):
    name = "sqlalchemy, pg8000"
    dialect = "pg8000"


def drivers(source):
    yield from [Psycopg3, Psycopg3Binary, Psycopg3Client, Psycopg2, Asyncpg, AsyncpgCasting, PG8000]
    # Debian's SQLAlchemy is older than psycopg 3, and its pg8000 older than what SQLAlchemy takes.
    yield from [SQLAlchemyPsycopg2] if source == "Debian" else [SQLAlchemy, SQLAlchemyPsycopg2, SQLAlchemyPG8000]
    yield Django


def judge(driver, function, arguments, expected):
    message = driver.call(function, arguments)
    if expected is None:
        return None if message is None else f"returned {message!r}, not null"
    if message is None:
        return "returned null"
    row = driver.row(message)
    for key, value in expected.items():
        if row[key] != value:
            return f"{key} is {json.dumps(row[key])}"
    if function == "enqueue" and row["tokens"] != arguments["tokens"]:
        return f"tokens are {row['tokens']}"
    return None


def main():
    source = sys.argv[1]
    for make in drivers(source):
        try:
            driver = make()
        except Exception as error:
            print("FAILED", f"{make.name} ({source})", "import", f"{type(error).__name__}: {error}".splitlines()[0], sep="\t")
            continue
        name = f"{driver.name} {driver.version} ({source})"
        for case, function, arguments, expected in cases(driver):
            try:
                fault = judge(driver, function, arguments, expected)
            except Exception as error:
                fault = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            print("FAILED" if fault else "ok", name, case, fault or "", sep="\t", flush=True)


main()
