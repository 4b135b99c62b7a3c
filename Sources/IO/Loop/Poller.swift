import CarillonCLinux
import Glibc

/// Epoll, level-triggered: a handler that reads only a part is called again.
struct Poller: ~Copyable {
    struct Event {
        let slot: Slot
        let ready: Interest
    }

    /// Stands for the wake-up descriptor; no table hands it out.
    static let wakeUp = Slot(index: .max, generation: .max)

    private let epoll: CInt
    private var ready: [epoll_event]
    /// The kernel has `epoll_pwait2`, which takes nanoseconds. Linux before 5.11 and sandboxes of that time lack it.
    private var isExact = true

    init() throws(IOError) {
        epoll = try SystemCall.check("creating an epoll descriptor") { epoll_create1(CInt(EPOLL_CLOEXEC)) }
        ready = Array(repeating: epoll_event(), count: 256)
    }

    deinit { close(epoll) }

    func add(_ descriptor: CInt, for interest: Interest, as slot: Slot) throws(IOError) {
        try control(EPOLL_CTL_ADD, descriptor, interest, slot)
    }

    func change(_ descriptor: CInt, to interest: Interest, as slot: Slot) throws(IOError) {
        try control(EPOLL_CTL_MOD, descriptor, interest, slot)
    }

    func remove(_ descriptor: CInt) {
        // Fails if its owner has closed it already, which has removed it too.
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
    }

    /// Waits at most until the deadline, and returns the number of events, which `event(at:)` returns.
    mutating func wait(until deadline: MonotonicInstant?) -> Int {
        let left = deadline.map { max(0, ($0 - .now).nanoseconds) }
        var count: CInt = -1
        if isExact {
            count = waitExactly(left)
            if count < 0, errno == ENOSYS || errno == EPERM { isExact = false }
        }
        if !isExact {
            let milliseconds = left.map { Self.milliseconds($0) } ?? -1
            count = epoll_wait(epoll, &ready, CInt(ready.count), milliseconds)
        }
        return max(0, Int(count))  // an interrupted wait ends early
    }

    private mutating func waitExactly(_ nanoseconds: Int64?) -> CInt {
        let room = CInt(ready.count)
        guard let nanoseconds else { return clinux_epoll_pwait2(epoll, &ready, room, nil) }
        var limit = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        return clinux_epoll_pwait2(epoll, &ready, room, &limit)
    }

    func event(at index: Int) -> Event {
        let event = ready[index]
        let slot = Slot(
            index: UInt32(truncatingIfNeeded: event.data.u64),
            generation: UInt32(truncatingIfNeeded: event.data.u64 >> 32)
        )
        return Event(slot: slot, ready: Interest(events: event.events))
    }

    private func control(_ operation: CInt, _ descriptor: CInt, _ interest: Interest, _ slot: Slot) throws(IOError) {
        var event = epoll_event()
        event.events = interest.events
        event.data.u64 = UInt64(slot.generation) << 32 | UInt64(slot.index)
        guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
            throw IOError(errno: errno, doing: "watching descriptor \(descriptor)")
        }
    }

    /// Rounded up: a timer may be late but never early.
    private static func milliseconds(_ nanoseconds: Int64) -> CInt {
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        return CInt(min(milliseconds, Int64(CInt.max)))
    }
}
