package import Postgres

/// The options of a worker.
package struct WorkerOptions: Sendable {
    /// The database, as libpq takes it; empty: libpq's own `PG*` variables.
    package var database = DatabaseSource("")
    package var name = "worker"
    package var host = ""
    package var processID: Int32 = 0
    package var version = ""
    /// Drain what is due, and end.
    package var once = false
    /// The most pushes that are claimed and not settled, which is also the most that a sudden death sends twice.
    package var maxInFlight = 8000
    /// How long a worker counts as alive without a heartbeat.
    package var lease: Duration = .seconds(15)
    /// How long pushes in flight may take once the worker is told to stop.
    package var drainTimeout: Duration = .seconds(30)
    /// How long answered pushes wait for slow pushes of the same claim before they are settled.
    package var settleAfter: Duration = .seconds(1)
    package var retry = RetryPolicy()
    /// Connections to gateways that were idle for so long are closed.
    package var idleTimeout: Duration = .seconds(300)
    /// How long `results` and `failures` are kept.
    package var retention: Duration = .seconds(7 * 86400)
    /// How long after a feedback pass of the fleet this worker runs the next one. Zero: it runs none.
    package var feedbackInterval: Duration = .seconds(600)

    package init() {}

    /// The pushes of one claim. Several claims overlap, so that one is sent while another is settled.
    var claimSize: Int { min(1000, max(1, maxInFlight / 6)) }

    /// A row with larger tokens has too many of them, and they are not counted. The longest that a cut leaves has 513
    /// characters.
    var mostBytes: Int32 { Int32(clamping: min(maxInFlight, 1000) * 2080 + 1024) }
}
