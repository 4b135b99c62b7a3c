import ApplePush
import IO

/// Everything that a worker knows, and all that it decides.
///
/// A value: there is no connection, clock, closure, lock or task in it. Events go in, in the past tense and with their time;
/// what to do comes out. `Worker` is the shell that waits and tells it; the simulation runs thousands of them.
struct WorkerState: Sendable {
    enum Phase: Sendable {
        case working
        /// With `once`: a look from the beginning of every lane has found nothing that is due.
        case drained
        /// Claims nothing more, and waits for what is in flight.
        case draining
        /// Breaks off what is in flight.
        case givingUp
        /// Waits for nothing any more.
        case over
    }

    /// What is repeated until it succeeds.
    enum Routine: Hashable, Sendable { case look, apps, heartbeat, watch, notes }

    let options: WorkerOptions
    var phase = Phase.working

    // The lease. The id changes when others declare the worker dead; it fences everything the worker writes.
    var id: Int64 = 0
    var installation: (UInt64, UInt64) = (0, 0)
    var lease: Lease
    /// When the last heartbeat was sent that got through.
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
    /// When all is due that went back for a moment.
    var returnsDue: MonotonicInstant?
    /// Claims that were answered and are not settled yet: rows of `inflight`.
    var flights: Set<ClaimKey> = []

    // What to write and tell.
    /// Counts that are not in `activity` yet.
    var activity: [Int32: Settlement.Tally] = [:]
    var notes = CredentialNotes()
    var errors = RepeatedNews<String>(interval: .seconds(30))
    var retries = RepeatedNews<AppCause>(interval: .seconds(60))
    var topicNews = TopicNews()

    // Maintenance.
    var isReadingFeedback = false
    /// Tasks that this worker has begun for the fleet: they count as failed until they report completion.
    var begunTasks: Set<MaintenanceTask.Name> = []
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

    /// The rows of `inflight` that this worker knows of.
    var heldClaims: Set<Int64> { Set(flights.map(\.id)) }

    /// Nothing of what was claimed is left to settle.
    var isIdle: Bool { slots.areEmpty && flights.isEmpty }

    /// Whether there is nothing more to wait for.
    var isDone: Bool {
        switch phase {
        case .working: false
        case .draining, .givingUp: isIdle && !isReadingFeedback
        case .drained, .over: true
        }
    }

    // MARK: Trying again

    /// How long to wait before a statement of a flight is tried again; nil: not at all.
    mutating func retryWait(_ pace: inout RetryPace) -> Duration? {
        guard phase != .over, reconnection.isConnected else { return nil }
        return pace.failed(using: &random)
    }

    /// How long to wait before the next try to connect.
    mutating func reconnectionWait() -> Duration { reconnection.next(using: &random) }

    mutating func succeeded(in routine: Routine) { paces[routine] = nil }

    /// How long to wait before the next try.
    mutating func failed(in routine: Routine) -> Duration {
        paces[routine, default: RetryPace()].failed(using: &random)
    }

    /// How many errors of that kind came before this one and were not told; nil: this one is not to be told either.
    mutating func untold(_ error: String, at now: MonotonicInstant) -> Int? {
        errors.add(of: error, at: now).map { $0 - 1 }
    }

    // MARK: Stopping

    /// False: it was told before.
    mutating func toldToDrain() -> Bool {
        guard phase == .working || phase == .drained else { return false }
        phase = .draining
        return true
    }

    /// False: it was told before.
    mutating func toldToGiveUp() -> Bool {
        guard phase != .givingUp, phase != .over else { return false }
        phase = .givingUp
        return true
    }

    /// What is not settled by now, others take over when the lease has run out.
    mutating func stoppedWaiting() {
        phase = .over
    }
}
