package import IO
import Synchronization

/// Says until when pushes may be sent: for senders who may lose the right to.
///
/// One permit may go with any number of deliveries. Whoever may send for longer extends it; nothing is handed to a
/// connection once its time is over.
public final class SendingPermit: Sendable {
    /// In nanoseconds of the monotonic clock. It stands for nothing but itself, so no order is needed.
    private let nanoseconds: Atomic<Int64>

    /// A permit for so long from now on.
    public convenience init(for duration: Duration) { self.init(until: .now + duration) }

    /// A permit until that instant.
    package init(until end: MonotonicInstant) { nanoseconds = Atomic(end.nanoseconds) }

    /// Makes the permit last at least so long from now on. One that was withdrawn stays so.
    public func extend(for duration: Duration) { extend(until: .now + duration) }

    /// Makes the permit last at least until that instant. One that was withdrawn stays so.
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

    /// Ends the permit for good.
    public func withdraw() { nanoseconds.store(.min, ordering: .relaxed) }

    /// The instant at which it is over, for as long as nobody extends it.
    package var end: MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds.load(ordering: .relaxed)) }

    /// Whether something may be sent at that instant.
    package func allows(at now: MonotonicInstant) -> Bool { now < end }

    /// Whether something may be sent now: for backends that are written outside.
    public var isInForce: Bool { allows(at: .now) }
}
