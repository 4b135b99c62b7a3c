package import CarillonIO
import Synchronization

/// How long pushes may be sent, for senders that may lose the right to send.
///
/// Any number of deliveries may share a permit. No push is handed to a connection after the permit ends.
public final class SendingPermit: Sendable {
    /// In nanoseconds of the monotonic clock. It guards no other memory, so relaxed ordering is enough.
    private let nanoseconds: Atomic<Int64>

    /// A permit for this long from now.
    public convenience init(for duration: Duration) { self.init(until: .now + duration) }

    package init(until end: MonotonicInstant) { nanoseconds = Atomic(end.nanoseconds) }

    /// Makes the permit last at least this long from now, unless it was revoked.
    public func extend(for duration: Duration) { extend(until: .now + duration) }

    /// Makes the permit last at least until that instant, unless it was revoked.
    package func extend(until end: MonotonicInstant) {
        var known = nanoseconds.load(ordering: .relaxed)
        while known != .min, known < end.nanoseconds {
            let (isExchanged, other) = nanoseconds.compareExchange(
                expected: known,
                desired: end.nanoseconds,
                ordering: .relaxed
            )
            if isExchanged { return }
            known = other
        }
    }

    /// Ends the permit. It cannot be extended afterwards.
    public func revoke() { nanoseconds.store(.min, ordering: .relaxed) }

    package var end: MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds.load(ordering: .relaxed)) }

    package func allows(at now: MonotonicInstant) -> Bool { now < end }

    /// Whether pushes may be sent now, for other backends.
    public var isInForce: Bool { allows(at: .now) }
}
