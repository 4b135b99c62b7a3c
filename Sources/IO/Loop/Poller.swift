import CarillonCLinux
import Glibc

/// Epoll, level-triggered: a handler that reads only some of the bytes is called again. An `eventfd` wakes a waiting poller.
struct Poller: ~Copyable {
    /// Ends the wait of a poller, from any thread, as long as the poller exists.
    struct Waker: Sendable {
        let descriptor: CInt

        /// Any number of calls before the next wait end only that wait.
        func wake() { eventfd_write(descriptor, 1) }
    }

    /// A watched descriptor that is ready, named by the slot under which it was added.
    struct Event {
        let slot: Slot
        let ready: Interest
    }

    /// The slot of the `eventfd`; no `SlotTable` ever returns it.
    private static let wakeUp = Slot(index: .max, generation: .max)

    private let epoll: OwnedDescriptor
    private let counter: OwnedDescriptor
    private var ready: [epoll_event]
    /// Whether the kernel has `epoll_pwait2`, which takes nanoseconds. Linux before 5.11 and sandboxes of that time lack it.
    private var isExact = true

    init() throws(IOError) {
        let epoll = try OwnedDescriptor("creating an epoll descriptor") { epoll_create1(CInt(EPOLL_CLOEXEC)) }
        let counter = try OwnedDescriptor("creating an event descriptor") {
            eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK))
        }
        try Self.control(epoll.number, EPOLL_CTL_ADD, counter.number, .read, Self.wakeUp)
        self.epoll = epoll
        self.counter = counter
        ready = Array(repeating: epoll_event(), count: 256)
    }

    var waker: Waker { Waker(descriptor: counter.number) }

    func add(_ descriptor: CInt, for interest: Interest, as slot: Slot) throws(IOError) {
        try Self.control(epoll.number, EPOLL_CTL_ADD, descriptor, interest, slot)
    }

    func change(_ descriptor: CInt, to interest: Interest, as slot: Slot) throws(IOError) {
        try Self.control(epoll.number, EPOLL_CTL_MOD, descriptor, interest, slot)
    }

    func remove(_ descriptor: CInt) {
        // Fails if the owner has already closed the descriptor, which also removes it.
        epoll_ctl(epoll.number, EPOLL_CTL_DEL, descriptor, nil)
    }

    /// Waits until the deadline at the latest. Returns the number of events to be read with `event(at:)`.
    mutating func wait(until deadline: MonotonicInstant?) -> Int {
        let left = deadline.map { max(0, ($0 - .now).nanoseconds) }
        var count: CInt = -1
        if isExact {
            count = waitExactly(left)
            if count < 0, errno == ENOSYS || errno == EPERM { isExact = false }
        }
        if !isExact {
            let milliseconds = left.map { Self.milliseconds($0) } ?? -1
            count = epoll_wait(epoll.number, &ready, CInt(ready.count), milliseconds)
        }
        return max(0, Int(count))  // an interrupted wait ends early
    }

    private mutating func waitExactly(_ nanoseconds: Int64?) -> CInt {
        let room = CInt(ready.count)
        guard let nanoseconds else { return clinux_epoll_pwait2(epoll.number, &ready, room, nil) }
        var limit = timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        return clinux_epoll_pwait2(epoll.number, &ready, room, &limit)
    }

    /// The event at the index; nil for a wake-up, which this clears.
    func event(at index: Int) -> Event? {
        let event = ready[index]
        let slot = Slot(bits: event.data.u64)
        if slot == Self.wakeUp {
            var value: eventfd_t = 0
            eventfd_read(counter.number, &value)
            return nil
        }
        return Event(slot: slot, ready: Interest(events: event.events))
    }

    private static func control(
        _ epoll: CInt,
        _ operation: CInt,
        _ descriptor: CInt,
        _ interest: Interest,
        _ slot: Slot
    ) throws(IOError) {
        var event = epoll_event()
        event.events = interest.events
        event.data.u64 = slot.bits
        guard epoll_ctl(epoll, operation, descriptor, &event) == 0 else {
            throw IOError(errno: errno, doing: "watching descriptor \(descriptor)")
        }
    }

    /// Rounds up: a timer may be late but never early.
    private static func milliseconds(_ nanoseconds: Int64) -> CInt {
        let milliseconds = nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
        return CInt(min(milliseconds, Int64(CInt.max)))
    }
}

extension Interest {
    fileprivate init(events: UInt32) {
        var interest: Interest = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { interest.insert(.read) }
        if events & EPOLLOUT.rawValue != 0 { interest.insert(.write) }
        if events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { interest = [.read, .write] }
        self = interest
    }

    fileprivate var events: UInt32 {
        (contains(.read) ? EPOLLIN.rawValue : 0) | (contains(.write) ? EPOLLOUT.rawValue : 0)
    }
}
