package import Postgres

/// How a worker works.
package struct WorkerOptions: Sendable {
    /// The database, as libpq takes it; empty: libpq's own `PG*` variables.
    package var database = DatabaseSource("")
    /// What people call it.
    package var name = "worker"
    package var host = ""
    package var processID: Int32 = 0
    package var version = ""
    /// Drain what is due, and return.
    package var once = false
    /// Pushes handed to a connection whose outcome is not committed: the most that a sudden death sends twice.
    package var maxInFlight = 8000
    /// After how long a silence the others take over.
    package var lease: Duration = .seconds(15)
    /// How long pushes in flight may take to land once the worker is told to stop.
    package var drainTimeout: Duration = .seconds(30)
    /// How long the pushes of a claim wait for the slowest of them before they are settled without it.
    package var patience: Duration = .seconds(1)
    package var retry = RetryPolicy()
    /// Connections that were idle for so long are closed.
    package var idleTimeout: Duration = .seconds(300)
    /// How long `results` and `failures` are kept.
    package var retention: Duration = .seconds(7 * 86400)
    /// How long after a feedback pass of the fleet this worker runs the next one; zero: it runs none.
    package var feedbackInterval: Duration = .seconds(600)

    package init() {}

    /// The pushes of one claim: a few claims overlap, so that one is on its way while another is being settled.
    var claimSize: Int { min(1000, max(1, maxInFlight / 6)) }

    /// How large the tokens of a row may be to be counted: more are too many, without a look. The longest that a cut leaves
    /// has 513 characters.
    var mostBytes: Int32 { Int32(clamping: min(maxInFlight, 1000) * 2080 + 1024) }
}
