import CarillonIO

/// Of HTTP/2, whose gateway answers each push.
extension Conversation {
    var refuted: Int { 0 }
    var awaitsArrival: Bool { false }
    func arrived(allBut count: Int, at now: MonotonicInstant) {}
}

/// Of the binary protocol, which has no provider tokens, and no answers to pushes that are accepted.
extension Conversation {
    var refusedToken: ProviderToken? { nil }
    func authorize(_ authorization: Authorization) {}
    func addAnswers(to meter: TrafficMeter) {}
}

/// The protocol on one connection, without its socket: pushes, received bytes and the time go in; bytes to send and outcomes come
/// out.
///
/// It returns each push that it takes from the deliveries exactly once, with its outcome or to be sent again. The pool calls it
/// once per batch and per read, never once per push.
protocol Conversation: AnyObject {
    var life: ConnectionLife { get }
    var room: ConnectionStatus.Room { get }
    /// Whether an answer has shown that the gateway accepts the credential.
    var isAccepted: Bool { get }
    /// Whether it accepts as many pushes as the gateway allows.
    var isProven: Bool { get }
    /// The provider token that the gateway refused as too old.
    var refusedToken: ProviderToken? { get }
    /// How many pushes it reported as accepted before the gateway said otherwise.
    var refuted: Int { get }
    /// When `passed` must next be called, if nothing happens before.
    var due: MonotonicInstant { get }

    /// Further pushes carry this provider token.
    func authorize(_ authorization: Authorization)

    /// The TLS handshake is complete.
    func connected(at now: MonotonicInstant)

    /// Takes up to `count` of the waiting pushes. Returns false if it takes no more of them now.
    func submit(_ count: Int, at now: MonotonicInstant) -> Bool

    /// Whether there seem to be bytes to drain; only draining tells for certain.
    var wantsToWrite: Bool { get }

    /// Appends bytes to send, until `output` has `limit` bytes.
    func drain(into output: inout [UInt8], limit: Int) throws(ConnectionEnd)

    /// The kernel has accepted this many of the drained bytes.
    func sent(_ count: Int)

    /// Bytes were drained and sent. `isStalled` means that the kernel had no room for all of them.
    func wrote(isStalled: Bool, at now: MonotonicInstant)

    /// Whether it must know how many of the sent bytes have reached the gateway's host.
    var awaitsArrival: Bool { get }

    /// All bytes that the kernel has accepted, except at most `count`, have reached the gateway's host.
    func arrived(allBut count: Int, at now: MonotonicInstant)

    func received(_ bytes: RawSpan, at now: MonotonicInstant)

    func passed(to now: MonotonicInstant)

    /// Accepts no more pushes; those in flight may still be answered.
    func retire(_ end: ConnectionEnd)

    /// Ends every push in flight. Returns the last bytes for the peer, to be sent if no other bytes are waiting.
    func end(_ end: ConnectionEnd) -> [UInt8]

    func addAnswers(to meter: TrafficMeter)
}
