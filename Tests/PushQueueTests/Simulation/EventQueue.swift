import IO

/// What is going to happen, in the order of time; of what happens at one instant, in the order in which it was set.
///
/// A binary heap like `TimerHeap`, but for one kind of payload: a simulation spends half its time here.
struct EventQueue {
    private struct Event {
        let at: Int64
        let number: Int
        let action: () -> Void

        func isBefore(_ other: Event) -> Bool { self.at == other.at ? self.number < other.number : self.at < other.at }
    }

    private var events: [Event] = []
    private var number = 0

    var earliest: MonotonicInstant? { self.events.first.map { MonotonicInstant(nanoseconds: $0.at) } }

    mutating func insert(at instant: MonotonicInstant, _ action: @escaping () -> Void) {
        self.number += 1
        self.events.append(Event(at: instant.nanoseconds, number: self.number, action: action))
        var place = self.events.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard self.events[place].isBefore(self.events[parent]) else { break }
            self.events.swapAt(place, parent)
            place = parent
        }
    }

    mutating func removeFirst() -> () -> Void {
        self.events.swapAt(0, self.events.count - 1)
        let first = self.events.removeLast()
        var place = 0
        while 2 * place + 1 < self.events.count {
            var child = 2 * place + 1
            if child + 1 < self.events.count, self.events[child + 1].isBefore(self.events[child]) { child += 1 }
            guard self.events[child].isBefore(self.events[place]) else { break }
            self.events.swapAt(place, child)
            place = child
        }
        return first.action
    }
}
