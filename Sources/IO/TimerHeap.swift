/// What a timer is cancelled by. Cancelling one that has fired does nothing.
package struct TimerToken: Hashable, Sendable {
    let slot: Slot
}

/// Timers in the order in which they are due; those due at one instant in the order in which they were set.
///
/// A binary heap whose entries know their slot and whose slots know their place in the heap, so that cancelling, which
/// is what happens to nearly every deadline, takes one out at once instead of leaving it to be skipped later.
package struct TimerHeap<Payload> {
    private struct Entry {
        let deadline: MonotonicInstant
        let sequence: UInt64
        let slot: Slot

        func isBefore(_ other: Entry) -> Bool {
            self.deadline == other.deadline ? self.sequence < other.sequence : self.deadline < other.deadline
        }
    }

    fileprivate struct Timer {
        var place: Int
        let payload: Payload
    }

    private var entries: [Entry] = []
    private var timers = SlotTable<Timer>()
    private var sequence: UInt64 = 0

    package init() {}

    package var count: Int { self.entries.count }
    package var earliest: MonotonicInstant? { self.entries.first?.deadline }

    package mutating func insert(at deadline: MonotonicInstant, _ payload: Payload) -> TimerToken {
        let place = self.entries.count
        let slot = self.timers.insert(Timer(place: place, payload: payload))
        self.entries.append(Entry(deadline: deadline, sequence: self.sequence, slot: slot))
        self.sequence += 1
        self.siftUp(from: place)
        return TimerToken(slot: slot)
    }

    @discardableResult
    package mutating func remove(_ token: TimerToken) -> Payload? {
        guard let timer = self.timers.remove(token.slot) else { return nil }
        self.vacate(timer.place)
        return timer.payload
    }

    /// Takes out the first timer that is due at `now`, if there is one.
    package mutating func popDue(at now: MonotonicInstant) -> Payload? {
        guard let first = self.entries.first, first.deadline <= now else { return nil }
        let timer = self.timers.remove(first.slot)
        self.vacate(0)
        return timer?.payload
    }

    mutating func removeAll() -> [Payload] {
        self.entries = []
        return self.timers.removeAll().map(\.payload)
    }

    private mutating func vacate(_ place: Int) {
        let last = self.entries.removeLast()
        guard place < self.entries.count else { return }
        self.put(last, at: place)
        self.siftUp(from: place)
        self.siftDown(from: place)
    }

    private mutating func put(_ entry: Entry, at place: Int) {
        self.entries[place] = entry
        self.timers[entry.slot]?.place = place
    }

    private mutating func siftUp(from start: Int) {
        var place = start
        let entry = self.entries[place]
        while place > 0 {
            let parent = (place - 1) / 2
            guard entry.isBefore(self.entries[parent]) else { break }
            self.put(self.entries[parent], at: place)
            place = parent
        }
        if place != start { self.put(entry, at: place) }
    }

    private mutating func siftDown(from start: Int) {
        var place = start
        let entry = self.entries[place]
        while true {
            var child = 2 * place + 1
            guard child < self.entries.count else { break }
            if child + 1 < self.entries.count, self.entries[child + 1].isBefore(self.entries[child]) { child += 1 }
            guard self.entries[child].isBefore(entry) else { break }
            self.put(self.entries[child], at: place)
            place = child
        }
        if place != start { self.put(entry, at: place) }
    }
}

extension TimerHeap: Sendable where Payload: Sendable {}
extension TimerHeap.Timer: Sendable where Payload: Sendable {}
