#if canImport(Darwin)
    import CarillonPOSIX

    /// Kqueue, level-triggered like epoll: a handler that reads only some of the bytes is called again. A user event wakes a
    /// waiting poller.
    ///
    /// Kqueue has a filter for each direction, so a descriptor that is ready for both is two events. The kernel removes both
    /// filters when the descriptor is closed. A child process does not inherit a kqueue.
    struct Poller: ~Copyable {
        private let queue: OwnedDescriptor
        private var ready: [kevent]

        init() throws(IOError) {
            let queue = try OwnedDescriptor("creating a kernel event queue") { kqueue() }
            // EV_CLEAR: reporting the event clears it, so it ends only one wait.
            var wakeUp = kevent()
            wakeUp.filter = Int16(EVFILT_USER)
            wakeUp.flags = UInt16(EV_ADD | EV_CLEAR)
            let number = queue.number
            _ = try SystemCall.check("preparing a wake-up") { kevent(number, &wakeUp, 1, nil, 0, nil) }
            self.queue = queue
            ready = Array(repeating: kevent(), count: 256)
        }

        var waker: PollerWaker { PollerWaker(queue: queue.number) }

        func add(_ descriptor: CInt, for interest: Interest, as slot: Slot) throws(IOError) {
            try change(descriptor, to: interest, as: slot)
        }

        func change(_ descriptor: CInt, to interest: Interest, as slot: Slot) throws(IOError) {
            for result in submit(descriptor, interest, slot) where result.data != 0 {
                // A missing filter need not be removed.
                if result.data == Int(ENOENT), !interest.contains(result.direction) { continue }
                remove(descriptor)
                throw IOError(errno: CInt(truncatingIfNeeded: result.data), doing: "watching descriptor \(descriptor)")
            }
        }

        func remove(_ descriptor: CInt) {
            // Fails if the owner has already closed the descriptor, which also removes its filters.
            _ = submit(descriptor, [], Slot(bits: 0))
        }

        /// Waits until the deadline at the latest. Returns the number of events to be read with `event(at:)`.
        mutating func wait(until deadline: MonotonicInstant?) -> Int {
            // The kernel rejects a wait of years, so cap it at a day: a wait may end early.
            let left = deadline.map { min(max(0, ($0 - .now).nanoseconds), 86_400_000_000_000) }
            let room = CInt(ready.count)
            guard let left else { return max(0, Int(kevent(queue.number, nil, 0, &ready, room, nil))) }
            var limit = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
            return max(0, Int(kevent(queue.number, nil, 0, &ready, room, &limit)))  // an interrupted wait ends early
        }

        /// The event at the index; nil for a wake-up.
        func event(at index: Int) -> PollerEvent? {
            let event = ready[index]
            guard event.filter != EVFILT_USER else { return nil }
            let slot = Slot(bits: UInt64(UInt(bitPattern: event.udata)))
            return PollerEvent(slot: slot, ready: event.hasFailed ? [.read, .write] : event.direction)
        }

        /// Adds the filters of the interest and deletes the others. Both changes are attempted, and each has a result.
        private func submit(_ descriptor: CInt, _ interest: Interest, _ slot: Slot) -> [kevent] {
            var changes = [EVFILT_READ, EVFILT_WRITE].map { filter in
                var change = kevent()
                change.ident = UInt(bitPattern: Int(descriptor))
                change.filter = Int16(filter)
                change.flags = UInt16(EV_RECEIPT | (interest.contains(change.direction) ? EV_ADD : EV_DELETE))
                change.udata = UnsafeMutableRawPointer(bitPattern: UInt(slot.bits))
                return change
            }
            var results = changes
            guard kevent(queue.number, &changes, 2, &results, 2, nil) == 2 else {
                for index in results.indices { results[index].data = Int(errno) }
                return results
            }
            return results
        }
    }

    /// Ends the wait of a poller, from any thread, as long as the poller exists.
    struct PollerWaker: Sendable {
        fileprivate let queue: CInt

        /// Any number of calls before the next wait end only that wait.
        func wake() {
            var trigger = kevent()
            trigger.filter = Int16(EVFILT_USER)
            trigger.fflags = UInt32(NOTE_TRIGGER)
            _ = kevent(queue, &trigger, 1, nil, 0, nil)
        }
    }

    extension kevent {
        fileprivate var direction: Interest { filter == EVFILT_READ ? .read : .write }

        /// Whether to report both directions, as epoll does: after an error, or when the peer no longer reads. The end of the
        /// peer's stream is only readable.
        fileprivate var hasFailed: Bool {
            flags & UInt16(EV_EOF) != 0 && (filter == EVFILT_WRITE || fflags != 0)
        }
    }
#endif
