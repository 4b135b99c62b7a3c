import CarillonIO

extension Conversation {
    var refuted: Int { 0 }
}

/// What is said on one connection, without its socket: pushes, bytes that arrived and the time go in; bytes to send and
/// outcomes come out.
///
/// Each push that it takes from the deliveries it gives back exactly once, with its outcome or to be sent again. The pool
/// calls it for each batch and each read, never for each push.
protocol Conversation: AnyObject {
    var life: ConnectionLife { get }
    var room: ConnectionStatus.Room { get }
    /// An answer has shown that the gateway accepts the credential.
    var isAccepted: Bool { get }
    /// It takes as many pushes as the gateway allows.
    var isProven: Bool { get }
    /// The provider token that the gateway called too old.
    var refusedToken: ProviderToken? { get }
    /// How many pushes it gave back as delivered before the gateway said otherwise.
    var refuted: Int { get }
    /// When `passed` must be called, if nothing happens before.
    var due: MonotonicInstant { get }

    /// The pushes to come carry this provider token.
    func authorize(_ authorization: Authorization)

    /// The TLS handshake is done.
    func connected(at now: MonotonicInstant)

    /// Takes up to this many of the waiting pushes. False if it takes no more of them now.
    func submit(_ count: Int, at now: MonotonicInstant) -> Bool

    /// Whether there are bytes to drain, as far as is known without trying.
    var wantsToWrite: Bool { get }

    /// Appends bytes to send, up to this many in all.
    func drain(into output: inout [UInt8], limit: Int) throws(ConnectionEnd)

    /// The kernel has taken this many of the drained bytes.
    func sent(_ count: Int)

    /// Bytes were drained and sent. Stalled: the kernel had no room for all of them.
    func wrote(isStalled: Bool, at now: MonotonicInstant)

    /// Whether it must know how much of what was sent has reached the gateway's host.
    var awaitsArrival: Bool { get }

    /// All bytes that the kernel took, but this many at most, have reached the gateway's host.
    func arrived(allBut count: Int, at now: MonotonicInstant)

    func received(_ bytes: RawSpan, at now: MonotonicInstant)

    func passed(to now: MonotonicInstant)

    /// Takes no more pushes; those in flight may still be answered.
    func retire(_ end: ConnectionEnd)

    /// Ends every push in flight. Returns the last bytes to the peer, to be sent if nothing else waits to be.
    func end(_ end: ConnectionEnd) -> [UInt8]

    func report(to meter: TrafficMeter)
}
