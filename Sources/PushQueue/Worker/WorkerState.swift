import ApplePush
import IO

/// Everything that a worker knows, and all that it decides.
///
/// A value: there is no connection, clock, lock or task in it. What happened goes in, in the past tense and with its time;
/// what is to be done comes out. `Worker` is the shell that waits and tells it; a simulation tells thousands of them.
struct WorkerState: Sendable {
    enum Phase: Sendable {
        case working
        /// Claims nothing more, and waits for what is in flight.
        case draining
        /// Breaks off what is in flight.
        case givingUp
        /// Waits for nothing any more.
        case over
    }

    let options: WorkerOptions
    var phase = Phase.working
    /// The number of this incarnation, which fences everything it writes.
    var id: Int64 = 0
    var installation: (UInt64, UInt64) = (0, 0)
    var isConnected = false
    var lease: Lease
    /// When its last heartbeat that got through was asked for.
    var heartbeatAt: MonotonicInstant?
    var watch = HeartbeatWatch()
    var strays = StrayClaims()
    var lockedApps = LockedApps()
    var notes = CredentialNotes()
    var errors = RepeatedErrors()
    private var paces: [Routine: RetryPace] = [:]
    var board: LaneBoard
    var limits: AppLimits
    /// Where looking for jobs that are due begins.
    var due = DueFloor()
    /// Looks step over them.
    var pausedRuns: [AppRun] = []
    /// Claims that were asked for and not answered yet.
    var asked = ClaimSlots()
    /// Claims that were answered and are not settled yet, and hold rows of `inflight`.
    var flights: Set<ClaimKey> = []
    /// Counts that are not in `activity` yet.
    var activity: [Int32: Settlement.Tally] = [:]
    var retryNews = RetryNews()
    var topicNews = TopicNews()
    /// With `once`: a look from the beginning of every lane has found nothing left to do.
    var hasDrained = false
    /// When all is due that went back for a moment.
    var returnsDue: MonotonicInstant?
    /// It is being told which tokens are dead, by somebody who tells it only once.
    var isReadingFeedback = false
    /// Tasks of maintenance that this worker has begun for the fleet, and not ended well.
    var begunTasks: Set<MaintenanceTask.Name> = []
    /// How long the latest sweep took.
    var sweepCost = Duration.zero
    var polling = PollingPace()
    var reconnection = ReconnectionPace()
    var random: SeededGenerator

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
    var isIdle: Bool { asked.areEmpty && flights.isEmpty }

    /// Whether there is nothing more to wait for.
    var isDone: Bool {
        switch phase {
        case .working: hasDrained
        case .draining, .givingUp: isIdle && !isReadingFeedback
        case .over: true
        }
    }

    // MARK: The connection

    mutating func connected(at now: MonotonicInstant) {
        isConnected = true
        reconnection.connected(at: now)
    }

    /// - Parameter isOwnFault: This side could not go on with the connection, which was well.
    mutating func disconnected(at now: MonotonicInstant, isOwnFault: Bool) {
        isConnected = false
        reconnection.disconnected(at: now, isOwnFault: isOwnFault)
    }

    /// How long to wait before the next try to connect.
    mutating func reconnectionWait() -> Duration { reconnection.next(using: &random) }

    /// How long to wait before a statement that has to succeed some day is tried again. Nil: not at all.
    mutating func retryWait(_ pace: inout RetryPace) -> Duration? {
        guard phase != .over, isConnected else { return nil }
        return pace.failed(using: &random)
    }

    // MARK: What is done again and again

    enum Routine: Hashable, Sendable { case look, apps, heartbeat, watch, notes }

    mutating func succeeded(in routine: Routine) { paces[routine] = nil }

    /// How long to wait before the next try.
    mutating func failed(in routine: Routine) -> Duration {
        paces[routine, default: RetryPace()].failed(using: &random)
    }

    // MARK: Stopping

    /// False: it has been told before.
    mutating func toldToDrain() -> Bool {
        guard phase == .working else { return false }
        phase = .draining
        return true
    }

    /// False: it has been told before.
    mutating func toldToGiveUp() -> Bool {
        guard phase == .working || phase == .draining else { return false }
        phase = .givingUp
        return true
    }

    /// Whatever is not settled by now, others will take over when the lease has run out.
    mutating func stoppedWaiting() {
        phase = .over
    }
}
