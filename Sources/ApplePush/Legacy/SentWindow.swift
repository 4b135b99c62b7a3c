import CarillonIO

/// The pushes that were sent on a connection of the binary protocol and whose outcome is not known, in the order in which
/// they were sent: a value. Each of them leaves it once.
///
/// A gateway is silent about what it accepts. If it refuses a push, it names it, discards all that follow, and closes the
/// connection. So a push is known to be delivered when a later one is refused, or when nothing came for longer than an error
/// takes, counted from the time at which the push had reached the gateway's host. While a barrier is unanswered, silence proves
/// nothing: the gateway will name the barrier, or the push before it that it refuses.
struct SentWindow {
    /// What is known of the pushes that leave the window, in their order.
    struct Fates: Equatable {
        var delivered: ArraySlice<QueuedPush> = []
        /// The one that the gateway refused.
        var refused: QueuedPush?
        /// Whether the gateway has processed these cannot be known.
        var unknown: ArraySlice<QueuedPush> = []
        /// The gateway has not processed these.
        var unprocessed: ArraySlice<QueuedPush> = []
    }

    /// The pushes below an identifier, and when the gateway's host was known to have all of them.
    private struct Mark {
        let next: UInt32
        let time: MonotonicInstant
    }

    /// How far a stream of bytes has come: so many pushes in full, and so many bytes of the next one.
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

    /// In place of a push: the notification that proves all before it by its error.
    private static let barrier = QueuedPush(delivery: -1, position: -1)

    private var pushes: ArraySlice<QueuedPush> = []
    private var lengths: ArraySlice<UInt32> = []
    private var marks: ArraySlice<Mark> = []
    /// The identifier of the first push. None is 0: gateways use 0 when they do not know which one it was.
    private(set) var first: UInt32 = 1
    /// What the kernel has taken.
    private var written = Progress()
    /// What has reached the gateway's host.
    private var arrived = Progress()
    /// How many of the bytes that the kernel has taken are not among those.
    private var underway: UInt64 = 0
    private(set) var hasBarrier = false

    /// The identifier of the next push.
    var next: UInt32 { first + UInt32(pushes.count) }

    var count: Int { pushes.count - (hasBarrier ? 1 : 0) }

    /// Pushes that were written have not reached the gateway's host, as far as is known.
    var awaitsArrival: Bool { underway > 0 }

    /// All that was sent has reached the gateway's host.
    var hasArrived: Bool { arrived.count == pushes.count }

    /// When the next pushes will have been at the gateway's host that long.
    func quietEnd(after quiet: Duration) -> MonotonicInstant? {
        hasBarrier ? nil : marks.first.map { $0.time + quiet }
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

    /// The kernel has taken that many bytes more.
    mutating func wrote(_ bytes: Int) {
        underway += UInt64(bytes)
        written.advance(by: UInt64(bytes), over: lengths)
    }

    /// All bytes that the kernel took, but this many at most, have reached the gateway's host.
    mutating func arrived(allBut count: Int, at now: MonotonicInstant) {
        let left = min(underway, UInt64(count))
        arrived.advance(by: underway - left, over: lengths)
        underway = left
        let next = first + UInt32(arrived.count)
        if next > marks.last?.next ?? first { marks.append(Mark(next: next, time: now)) }
    }

    /// No error has come until now. Returns the pushes that have been at the gateway's host at least that long.
    mutating func stayedQuiet(for quiet: Duration, at now: MonotonicInstant) -> ArraySlice<QueuedPush> {
        if hasBarrier { return [] }
        var last: UInt32?
        while let mark = marks.first, now - mark.time >= quiet {
            last = mark.next
            marks.removeFirst()
        }
        return last.map { remove(Int($0 - first)) } ?? []
    }

    /// The gateway has said which push it refuses, or accepted last.
    mutating func answered(_ reply: BinaryReply) -> Fates {
        // It cannot mean one that it never got.
        guard reply.identifier != 0, reply.identifier < first + UInt32(written.count) else { return closed() }
        // The push has left the window before: all that are still here came after it.
        guard reply.identifier >= first else { return unprocessed() }
        var fates = Fates(delivered: remove(Int(reply.identifier - first)))
        let named = remove(1)
        if reply.isShutdown { fates.delivered.append(contentsOf: named) } else { fates.refused = named.first }
        fates.unprocessed = remove(pushes.count)
        return fates
    }

    /// How many pushes have left the window as delivered that were not, by a reply that came too late.
    func refuted(by reply: BinaryReply) -> Int {
        guard reply.identifier != 0, reply.identifier < first else { return 0 }
        return Int(first - reply.identifier) - (reply.isShutdown ? 1 : 0)
    }

    /// The connection has ended without a word.
    mutating func closed() -> Fates {
        var fates = Fates(unknown: remove(written.count))
        fates.unprocessed = remove(pushes.count)
        return fates
    }

    /// The connection has ended, and the gateway has processed nothing of what is here.
    mutating func unprocessed() -> Fates { Fates(unprocessed: remove(pushes.count)) }

    /// Removes that many from the front, and returns those of them that are pushes.
    private mutating func remove(_ count: Int) -> ArraySlice<QueuedPush> {
        var removed = pushes.prefix(count)
        pushes.removeFirst(count)
        lengths.removeFirst(count)
        first += UInt32(count)
        marks = marks.drop { $0.next <= first }
        written.count = max(0, written.count - count)
        arrived.count = max(0, arrived.count - count)
        // A barrier is the last of its connection.
        if hasBarrier, pushes.isEmpty, removed.last == Self.barrier {
            removed.removeLast()
            hasBarrier = false
        }
        return removed
    }
}
