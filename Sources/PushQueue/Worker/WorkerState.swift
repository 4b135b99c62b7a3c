import ApplePush
import CarillonIO

/// The state of a worker, and all its decisions.
///
/// A value without connection, clock, closure, lock or task. Events go in, with their time; decisions come out. `Worker` is
/// its shell. The simulation runs thousands of them.
struct WorkerState: Sendable {
    enum Phase: Sendable {
        case working
        /// With `once`: a look from the beginning of every lane has found nothing due.
        case drained
        /// Claims nothing more, and settles what is in flight.
        case draining
        /// Abandons pushes in flight.
        case givingUp
        /// Has stopped. What is not settled is left for a take-over.
        case over
    }

    /// Work that is repeated until it succeeds.
    enum Routine: Hashable, Sendable { case look, apps, heartbeat, watch, notes }

    let options: WorkerOptions
    var phase = Phase.working

    // The lease. The id changes when others declare the worker dead; it fences all settlements.
    var id: Int64 = 0
    var installation: (UInt64, UInt64) = (0, 0)
    var lease: Lease
    /// When the last heartbeat that succeeded was sent.
    var heartbeatAt: MonotonicInstant?
    var watch = HeartbeatWatch()
    var strays = StrayClaims()

    // What to claim.
    var board: LaneBoard
    var limits: AppLimits
    var slots = ClaimSlots()
    var due = DueFloor()
    var polling = PollingPace()
    var pausedRuns: [AppRun] = []
    /// When the last of the jobs that went back without using up an attempt is due.
    var returnsDue: MonotonicInstant?
    /// Claims that were answered and are not settled yet: rows of `inflight`.
    var flights: Set<ClaimKey> = []

    // What to write and log.
    /// Counts that are not in the table `activity` yet.
    var activity: [Int32: Settlement.Tally] = [:]
    var notes = CredentialNotes()
    var errors = RepeatedEvents<String>(interval: .seconds(30))
    var retries = RepeatedEvents<AppCause>(interval: .seconds(60))
    var topicEvents = TopicRefusalEvents()

    // Maintenance.
    var isReadingFeedback = false
    /// Tasks of the fleet that this worker has begun. They count as failed until they report completion.
    var begunTasks: Set<MaintenanceTask.Name> = []
    /// Tasks that have run, well or not.
    var triedTasks: Set<MaintenanceTask.Name> = []
    /// How long the latest sweep took.
    var sweepCost = Duration.zero

    // Connections.
    var reconnection = ReconnectionPace()
    var lockedApps = LockedApps()
    private var paces: [Routine: RetryPace] = [:]
    var random: SeededGenerator

    /// Why pushes of an app are tried again.
    struct AppCause: Hashable, Sendable {
        let app: Int32
        let cause: RetryCause
    }

    init(_ options: WorkerOptions, seed: UInt64) {
        self.options = options
        lease = Lease(duration: options.lease)
        board = LaneBoard(quantum: options.claimSize)
        limits = AppLimits(maxInFlight: options.maxInFlight, claimSize: options.claimSize)
        random = SeededGenerator(seed: seed)
    }

    var inFlight: Int { limits.admission.inFlight }

    /// The ids of its rows of `inflight`, as far as it knows.
    var heldClaims: Set<Int64> { Set(flights.map(\.id)) }

    /// Every claim is settled.
    var isIdle: Bool { slots.areEmpty && flights.isEmpty }

    var isDone: Bool {
        switch phase {
        case .working: false
        case .draining, .givingUp: isIdle && !isReadingFeedback
        case .drained, .over: true
        }
    }

    // MARK: Retrying

    /// The wait before a statement of a flight is tried again; nil: none, since there is no connection.
    mutating func retryWait(_ pace: inout RetryPace) -> Duration? {
        guard phase != .over, reconnection.isConnected else { return nil }
        return pace.failed(using: &random)
    }

    mutating func reconnectionWait() -> Duration { reconnection.next(using: &random) }

    mutating func succeeded(in routine: Routine) { paces[routine] = nil }

    /// Returns the wait before the next try.
    mutating func failed(in routine: Routine) -> Duration {
        paces[routine, default: RetryPace()].failed(using: &random)
    }

    /// How many errors of that kind were suppressed before this one; nil: this one is suppressed too.
    mutating func suppressed(_ error: String, at now: MonotonicInstant) -> Int? {
        errors.add(of: error, at: now).map { $0 - 1 }
    }

    // MARK: Stopping

    /// False: it was requested before.
    mutating func drainRequested() -> Bool {
        guard phase == .working || phase == .drained else { return false }
        phase = .draining
        return true
    }

    /// False: it was requested before.
    mutating func giveUpRequested() -> Bool {
        guard phase != .givingUp, phase != .over else { return false }
        phase = .givingUp
        return true
    }

    /// Claims that are not settled are taken over when the lease has expired.
    mutating func stoppedWaiting() { phase = .over }
}
