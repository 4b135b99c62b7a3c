/// Timers in the order in which they are due. Timers due at the same instant fire in the order in which they were set.
///
/// A binary heap whose entries know their slots and whose slots know their position in the heap. Nearly every deadline is
/// cancelled, so cancelling removes the timer at once instead of leaving it to be skipped later.
package struct TimerHeap<Payload> {
    private struct Entry {
        let deadline: MonotonicInstant
        let sequence: UInt64
        let slot: Slot

        func isBefore(_ other: Entry) -> Bool {
            deadline == other.deadline ? sequence < other.sequence : deadline < other.deadline
        }
    }

    fileprivate struct Timer {
        var index: Int
        let payload: Payload
    }

    private var entries: [Entry] = []
    private var timers = SlotTable<Timer>()
    private var sequence: UInt64 = 0

    package init() {}

    package var count: Int { entries.count }
    package var earliest: MonotonicInstant? { entries.first?.deadline }

    package mutating func insert(at deadline: MonotonicInstant, _ payload: Payload) -> TimerToken {
        let index = entries.count
        let slot = timers.insert(Timer(index: index, payload: payload))
        entries.append(Entry(deadline: deadline, sequence: sequence, slot: slot))
        sequence += 1
        siftUp(from: index)
        return TimerToken(slot: slot)
    }

    @discardableResult
    package mutating func remove(_ token: TimerToken) -> Payload? {
        guard let timer = timers.remove(token.slot) else { return nil }
        vacate(timer.index)
        return timer.payload
    }

    package mutating func popDue(at now: MonotonicInstant) -> Payload? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        let timer = timers.remove(first.slot)
        vacate(0)
        return timer?.payload
    }

    mutating func removeAll() -> [Payload] {
        entries = []
        return timers.removeAll().map(\.payload)
    }

    private mutating func vacate(_ index: Int) {
        let last = entries.removeLast()
        guard index < entries.count else { return }
        put(last, at: index)
        siftUp(from: index)
        siftDown(from: index)
    }

    private mutating func put(_ entry: Entry, at index: Int) {
        entries[index] = entry
        timers[entry.slot]?.index = index
    }

    private mutating func siftUp(from start: Int) {
        var index = start
        let entry = entries[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard entry.isBefore(entries[parent]) else { break }
            put(entries[parent], at: index)
            index = parent
        }
        if index != start { put(entry, at: index) }
    }

    private mutating func siftDown(from start: Int) {
        var index = start
        let entry = entries[index]
        while true {
            var child = 2 * index + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) { child += 1 }
            guard entries[child].isBefore(entry) else { break }
            put(entries[child], at: index)
            index = child
        }
        if index != start { put(entry, at: index) }
    }
}

extension TimerHeap: Sendable where Payload: Sendable {}

extension TimerHeap.Timer: Sendable where Payload: Sendable {}
