/// The figures that each benchmark of `carillon-bench` prints at its least size, by name.
enum BenchmarkFigures {
    static let all: [String: [String]] = [
        "sender": ["h2load, requests a second", "our sender, pushes a second", "rate of our sender / rate of h2load"],
        "payload": [
            "200 bytes, pushes a second", "4,096 bytes, pushes a second", "rate with 4,096 bytes / with 200 bytes",
        ],
        "storms": [
            "clean, rows a second", "requests a push, with a goodbye after every 100", "  its rate / the clean rate",
            "requests a push, reset after every 500", "  its rate / the clean rate",
            "rate of the sender alone with those goodbyes / without them",
        ],
        "rows": [
            "one-token rows, claimed, sent and settled a second", "  peak memory of the worker",
            "  processor time of the worker a push",
        ],
        "binary": ["notifications a second"],
        "claim": [
            "one-token rows by the bare claim statement, pgbench, 1 client",
            "one-token rows by the bare claim statement, pgbench, 2 clients",
        ],
        "tokens": [
            "tokens in rows of 1,000, claimed, sent and settled a second", "  peak memory of the worker",
            "  processor time of the worker a push",
        ],
        "personal": [
            "rows of 1,000 with one payload, tokens a second", "rows of 1,000 with 1,000 payloads, tokens a second",
            "rate with 1,000 payloads / with one payload",
        ],
        "insert": [
            "one row into a bare table", "one row into carillon.messages", "one row by carillon.enqueue",
            "  time into carillon.messages / into a bare table", "  time by carillon.enqueue / into a bare table",
        ],
        "enqueue": enqueue,
        "latency": [
            "one idle worker, commit to request: p50", "  p99", "2 idle workers, commit to request: p50", "  p99",
            "an idle worker, of a core", "    and its sessions in PostgreSQL",
            "  with 10,000 apps, of a core", "    and its sessions in PostgreSQL",
            "  with 10,000 paused apps that have rows, of a core", "    and its sessions in PostgreSQL",
        ],
        "events": [
            "one-token rows of an app without a consumer a second",
            "one-token rows of an app whose events are followed a second", "rate with a consumer / without one",
            "events taken a second by one session",
        ],
        "wal": [
            "WAL of a one-token row: by an INSERT of all rows", "  by its claim and its settlement",
            "  from the INSERT to its result",
        ],
        "committers": [
            "transactions a second of 32 sessions, 5 ms a flush, no worker",
            "transactions a second of 32 sessions, 5 ms a flush, a sleeping worker", "  rate with / without it",
        ],
        "idle": [
            "statements of an idle worker in its first idle minute", "  a minute after 0 idle minutes",
            "by enqueue after 1 idle minutes, commit to request",
            "by enqueue after a few idle seconds, commit to request: p50", "  max",
            "by INSERT after a few idle seconds, commit to request: p50", "  max",
        ],
        "crowd": [
            "1 apps that wake at once: apps served a second",
            "a row of a steady app beside them, commit to request: p50", "  the longest that it stands still",
        ],
        "import": [
            "tokens imported a second", "  peak memory of the program", "the same tokens imported again a second",
            "  WAL written meanwhile a token",
        ],
        "horizon": [
            "rows a second, 1 drained", "rows a second beside a transaction that stays open",
            "  rate with / without it",
        ],
        "fairness": [
            "rows a second of a large app alone", "rows a second beside 200 small ones", "  rate beside them / alone",
            "small apps' rows, commit to request: p50", "  p99",
        ],
        "silence": [
            "rows a second of an app alone", "  rate beside one whose gateway is silent / alone",
            "  for so many seconds",
            "  unknown outcomes meanwhile",
        ],
        "depth": [
            "rows a second out of a queue of 6,000", "rows a second out of a queue of 150,000",
            "  rate from the deep / from the shallow queue",
            "  rows left at the end",
        ],
        "web": [
            "pages", "the slowest page: p50", "  p95", "  max", "the slowest as JSON: p50", "  p95", "  max",
            "the largest page, with style sheet and script", "rows a second of a worker, no page open",
            "rows a second, 3 pages open", "  rate with / without them, median of 6 pairs",
        ],
        "reap": [
            "one-token rows a second, without a feedback pass", "one-token rows a second, while a feedback pass runs",
            "  rate with / without it", "the pass: 200 dead of 2,000 tokens",
        ],
    ]

    private static let enqueue: [String] = {
        let calls = [
            "enqueue with alert, badge and sound", "enqueue with title and body", "push with alert, badge and sound",
            "push with a payload",
        ]
        let single = ["prepared", "unprepared"].flatMap { mode in
            ["a bare INSERT, \(mode)"]
                + calls.flatMap { ["\($0), \(mode)", "  its time / that of a bare INSERT, \(mode)"] }
        }
        let inBulk = ["json", "text", "jsonb"].flatMap { type in
            ["push_each with \(type)[], a row", "  its time / that of INSERT … SELECT, a row"]
        }
        return single + ["INSERT … SELECT, a row"] + inBulk
    }()
}
