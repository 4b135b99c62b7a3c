import CarillonIO

/// The pushes sent on a connection of the binary protocol whose outcomes are not yet known, in the order of sending, as a value.
/// Each push leaves the window exactly once.
///
/// A gateway does not confirm the pushes that it accepts. If it refuses a push, it names that push, discards all later ones, and
/// closes the connection. So a push counts as accepted when a later one is refused, or when no error has arrived for the quiet
/// period after the push reached the gateway's host. While the answer to a barrier is due, silence proves nothing: the gateway will
/// name either the barrier or an earlier push that it refuses.
struct SentWindow {
    /// The fates of the pushes that leave the window, in their order.
    struct Fates: Equatable {
        var accepted: ArraySlice<QueuedPush> = []
        var refused: QueuedPush?
        /// The gateway may or may not have processed these.
        var unknown: ArraySlice<QueuedPush> = []
        /// The gateway has not processed these.
        var unprocessed: ArraySlice<QueuedPush> = []
    }

    /// The pushes below an identifier, and the time at which they were all known to have reached the gateway's host.
    private struct Mark {
        let next: UInt32
        let time: MonotonicInstant
    }

    /// How far a stream of bytes has got: the number of complete pushes, and the number of bytes of the next one.
    private struct Progress {
        var count = 0
        var ofNext: UInt64 = 0

        mutating func advance(by bytes: UInt64, over lengths: ArraySlice<UInt32>) {
            ofNext += bytes
            while count < lengths.count, ofNext >= lengths[lengths.startIndex + count] {
                ofNext -= UInt64(lengths[lengths.startIndex + count])
                count += 1
            }
        }
    }

    /// Stands in for a push: the barrier notification, whose error proves that all pushes before it were accepted.
    private static let barrier = QueuedPush(delivery: -1, position: -1)

    private var pushes: ArraySlice<QueuedPush> = []
    private var lengths: ArraySlice<UInt32> = []
    private var marks: ArraySlice<Mark> = []
    /// The identifier of the first push. 0 is never used: gateways send 0 when they do not know which push it was.
    private(set) var first: UInt32 = 1
    /// How much the kernel has accepted.
    private var written = Progress()
    /// How much has reached the gateway's host.
    private var arrived = Progress()
    /// How many of the bytes that the kernel has accepted have not reached the gateway's host.
    private var underway: UInt64 = 0
    private(set) var hasBarrier = false
    /// The gateway has not answered the barrier in time.
    private var isBarrierIgnored = false

    /// The identifier of the next push.
    var next: UInt32 { first + UInt32(pushes.count) }

    var count: Int { pushes.count - (hasBarrier ? 1 : 0) }

    /// Whether written bytes have not yet been confirmed by the gateway's host.
    var awaitsArrival: Bool { underway > 0 }

    /// Whether the answer to a barrier is due.
    private var awaitsBarrier: Bool { hasBarrier && !isBarrierIgnored }

    /// Whether all sent pushes have reached the gateway's host.
    var hasArrived: Bool { arrived.count == pushes.count }

    /// When the next pushes will have been at the gateway's host for the quiet period.
    func quietEnd(after quiet: Duration) -> MonotonicInstant? {
        awaitsBarrier ? nil : marks.first.map { $0.time + quiet }
    }

    // MARK: What happened

    mutating func append(_ push: QueuedPush, length: Int) {
        pushes.append(push)
        lengths.append(UInt32(length))
    }

    mutating func appendBarrier(length: Int) {
        append(Self.barrier, length: length)
        hasBarrier = true
    }

    /// The gateway has not answered the barrier in time, so silence counts again.
    mutating func ignoredBarrier() { isBarrierIgnored = true }

    /// The kernel has accepted this many more bytes.
    mutating func wrote(_ bytes: Int) {
        underway += UInt64(bytes)
        written.advance(by: UInt64(bytes), over: lengths)
    }

    /// All bytes that the kernel has accepted, except at most `count`, have reached the gateway's host.
    mutating func arrived(allBut count: Int, at now: MonotonicInstant) {
        let left = min(underway, UInt64(count))
        arrived.advance(by: underway - left, over: lengths)
        underway = left
        let next = first + UInt32(arrived.count)
        if next > marks.last?.next ?? first { marks.append(Mark(next: next, time: now)) }
    }

    /// No error has arrived until now. Returns the pushes that have been at the gateway's host for at least `quiet`.
    mutating func stayedQuiet(for quiet: Duration, at now: MonotonicInstant) -> ArraySlice<QueuedPush> {
        if awaitsBarrier { return [] }
        var last: UInt32?
        while let mark = marks.first, now - mark.time >= quiet {
            last = mark.next
            marks.removeFirst()
        }
        return last.map { remove(Int($0 - first)) } ?? []
    }

    /// The gateway has reported which push it refuses, or which one it accepted last.
    mutating func answered(_ answer: BinaryAnswer) -> Fates {
        // The gateway cannot name a push that it never received.
        guard answer.identifier != 0, answer.identifier < first + UInt32(written.count) else { return closed() }
        // The push has already left the window, so all pushes still in it came later.
        guard answer.identifier >= first else { return unprocessed() }
        var fates = Fates(accepted: remove(Int(answer.identifier - first)))
        let named = remove(1)
        if answer.isShutdown { fates.accepted.append(contentsOf: named) } else { fates.refused = named.first }
        fates.unprocessed = remove(pushes.count)
        return fates
    }

    /// How many pushes wrongly left the window as accepted, according to an answer that came too late.
    func refuted(by answer: BinaryAnswer) -> Int {
        guard answer.identifier != 0, answer.identifier < first else { return 0 }
        return Int(first - answer.identifier) - (answer.isShutdown ? 1 : 0)
    }

    /// The connection has ended without an answer.
    mutating func closed() -> Fates {
        var fates = Fates(unknown: remove(written.count))
        fates.unprocessed = remove(pushes.count)
        return fates
    }

    /// The connection has ended, and the gateway has processed none of the pushes in the window.
    mutating func unprocessed() -> Fates { Fates(unprocessed: remove(pushes.count)) }

    /// Removes `count` elements from the front, and returns those that are pushes.
    private mutating func remove(_ count: Int) -> ArraySlice<QueuedPush> {
        var removed = pushes.prefix(count)
        pushes.removeFirst(count)
        lengths.removeFirst(count)
        first += UInt32(count)
        marks = marks.drop { $0.next <= first }
        written.count = max(0, written.count - count)
        arrived.count = max(0, arrived.count - count)
        // A barrier is the last notification on its connection.
        if hasBarrier, pushes.isEmpty, removed.last == Self.barrier {
            removed.removeLast()
            hasBarrier = false
        }
        return removed
    }
}
