package import CarillonPostgres

package struct WorkerOptions: Sendable {
    /// A connection string of libpq; empty: its `PG*` variables.
    package var database = DatabaseSource("")
    package var name = "worker"
    package var host = ""
    package var processID: Int32 = 0
    package var version = ""
    /// End when no message is due.
    package var once = false
    /// The most pushes in flight, which is also the most that are sent twice when the worker dies.
    package var maxInFlight = 8000
    /// How long a worker counts as alive without a heartbeat.
    package var lease: Duration = .seconds(15)
    /// How long draining may take.
    package var drainTimeout: Duration = .seconds(30)
    /// How long it may take to end once it gives up: to settle what it knows, and to release the rest.
    package var giveUpTimeout: Duration = .milliseconds(800)
    /// How long answered pushes wait for slow pushes of the same claim before they are settled.
    package var settleAfter: Duration = .seconds(1)
    /// How long it may have claims and settle none before it counts as stuck.
    package var stuckAfter: Duration = .seconds(80)
    package var retry = RetryPolicy()
    /// How long a connection to a gateway may be idle.
    package var idleTimeout: Duration = .seconds(300)
    /// How long `results` and `failures` are kept.
    package var retention: Duration = .seconds(7 * 86400)
    /// The time between feedback passes of the fleet. Zero: this worker runs none.
    package var feedbackInterval: Duration = .seconds(600)

    /// How many lanes a limited look walks over, so that claims wait for no more than a few milliseconds: see `LookWalk`.
    package var maxLookSteps = 256

    package init() {}

    /// Pushes of one claim. Several claims overlap, so that one is sent while another is settled.
    var claimSize: Int { min(ClaimPlan.largest, max(1, maxInFlight / 6)) }

    /// A row with larger tokens has too many of them to be claimed. Shortened tokens have up to 512 bytes.
    var maxBytes: Int32 {
        Int32(clamping: min(maxInFlight, ClaimPlan.largest) * ClaimStatement.tokenBytes + ClaimStatement.arrayBytes)
    }
}
