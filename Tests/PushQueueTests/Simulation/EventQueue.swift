/// What is going to happen, in the order of time; of what happens at one instant, in the order in which it was set.
///
/// A binary heap like `TimerHeap`, but for one kind of payload, which stays where it is while its key moves: a simulation
/// spends a good part of its time here.
struct EventQueue {
    private struct Key {
        /// Microseconds.
        let at: Int64
        let number: Int
        let place: Int

        func isBefore(_ other: Key) -> Bool { self.at == other.at ? self.number < other.number : self.at < other.at }
    }

    private var keys: [Key] = []
    private var actions: [(() -> Void)?] = []
    private var free: [Int] = []
    private var number = 0

    /// When the next thing happens, in microseconds.
    var earliest: Int64? { self.keys.isEmpty ? nil : self.keys[0].at }

    mutating func insert(at time: Int64, _ action: @escaping () -> Void) {
        let place: Int
        if let last = self.free.popLast() {
            place = last
            self.actions[place] = action
        } else {
            place = self.actions.count
            self.actions.append(action)
        }
        self.number += 1
        let key = Key(at: time, number: self.number, place: place)
        var hole = self.keys.count
        self.keys.append(key)
        while hole > 0 {
            let parent = (hole - 1) / 2
            guard key.isBefore(self.keys[parent]) else { break }
            self.keys[hole] = self.keys[parent]
            hole = parent
        }
        self.keys[hole] = key
    }

    /// Takes out what happens next.
    mutating func removeFirst() -> (() -> Void)? {
        let first = self.keys[0].place
        let key = self.keys.removeLast()
        let count = self.keys.count
        var hole = 0
        while 2 * hole + 1 < count {
            var child = 2 * hole + 1
            if child + 1 < count, self.keys[child + 1].isBefore(self.keys[child]) { child += 1 }
            guard self.keys[child].isBefore(key) else { break }
            self.keys[hole] = self.keys[child]
            hole = child
        }
        if count > 0 { self.keys[hole] = key }
        self.free.append(first)
        defer { self.actions[first] = nil }
        return self.actions[first]
    }
}
