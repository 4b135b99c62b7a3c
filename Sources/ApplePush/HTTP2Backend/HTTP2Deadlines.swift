import CarillonIO

/// The time limits for an HTTP/2 server apart from answering pushes, as a value.
struct HTTP2Deadlines {
    /// The stream number at which the connection is replaced.
    private static let highestStream: Int32 = 1 << 30

    private let pingAfter: Duration
    private var settings: Deadline
    private var acknowledgement: Deadline
    private var ping: Deadline
    private var streams: Deadline
    private var window: Deadline
    private var bodyBytes: UInt64 = 0
    private(set) var lastHeard: MonotonicInstant

    init(_ configuration: HTTP2Configuration, at now: MonotonicInstant) {
        pingAfter = configuration.pingAfter
        settings = Deadline(configuration.settingsTimeout, .settingsMissing)
        acknowledgement = Deadline(configuration.acknowledgementTimeout, .settingsUnacknowledged)
        ping = Deadline(configuration.pingTimeout, .silent)
        streams = Deadline(configuration.starvationTimeout, .starved)
        window = Deadline(configuration.starvationTimeout, .windowClosed)
        lastHeard = now
    }

    /// Whether a ping is unanswered.
    var isInDoubt: Bool { ping.isRunning }

    /// When `passed` must be called, if nothing happens before.
    func due(_ life: ConnectionLife, inFlight: Int) -> MonotonicInstant {
        if life.isClosed { return .distantFuture }
        var due = min(settings.due, ping.due)
        if !ping.isRunning, inFlight > 0 { due = min(due, lastHeard + pingAfter) }
        return life.isReady ? min(due, acknowledgement.due, streams.due, window.due) : due
    }

    // MARK: What happened

    /// The TLS handshake is complete; our settings are sent with the first bytes.
    mutating func connected(at now: MonotonicInstant) {
        lastHeard = now
        settings.restart(at: now)
        acknowledgement.restart(at: now)
    }

    /// The server sent its settings.
    mutating func settled() { settings.stop() }

    /// The server acknowledged our settings.
    mutating func acknowledged() { acknowledgement.stop() }

    mutating func heard(at now: MonotonicInstant) {
        lastHeard = now
        ping.stop()
    }

    func opened(_ stream: Int32, _ life: inout ConnectionLife) {
        if stream >= Self.highestStream { life.retire(.exhausted) }
    }

    /// How many streams the server allows, whether in use or not.
    mutating func offered(_ count: Int, at now: MonotonicInstant) { streams.run(count == 0, since: now) }

    /// Records whether windows hold back bodies, and how many bytes of bodies have been sent so far: each byte is progress.
    mutating func held(back isHeld: Bool, after bytes: UInt64, at now: MonotonicInstant) {
        if isHeld, bytes != bodyBytes { window.restart(at: now) } else { window.run(isHeld, since: now) }
        bodyBytes = bytes
    }

    /// Pushes are about to be sent. Returns true if the server has been silent so long that a ping must be sent with them.
    mutating func willSend(at now: MonotonicInstant) -> Bool {
        guard !ping.isRunning, now - lastHeard >= pingAfter else { return false }
        ping.restart(at: now)
        return true
    }

    /// Returns true if a ping must be sent.
    mutating func passed(to now: MonotonicInstant, _ life: inout ConnectionLife, inFlight: Int) -> Bool {
        for deadline in [settings, ping] where deadline.isOver(at: now) { life.close(deadline.end) }
        if life.isReady {
            for deadline in [acknowledgement, streams, window] where deadline.isOver(at: now) {
                life.retire(deadline.end)
            }
        }
        return !life.isClosed && inFlight > 0 && willSend(at: now)
    }
}
