/// The pending events by time, and those of one instant in the order in which they were added.
///
/// A binary heap like `TimerHeap`, but payloads stay in place while their keys move: a simulation spends much of its time here.
struct SimulationQueue {
    private struct Key {
        /// Microseconds.
        let at: Int64
        let number: Int
        let place: Int

        func isBefore(_ other: Key) -> Bool { at == other.at ? number < other.number : at < other.at }
    }

    private var keys: [Key] = []
    private var actions: [(() -> Void)?] = []
    private var free: [Int] = []
    private var number = 0

    /// The time of the next event, in microseconds.
    var earliest: Int64? { keys.isEmpty ? nil : keys[0].at }

    mutating func insert(at time: Int64, _ action: @escaping () -> Void) {
        let place: Int
        if let last = free.popLast() {
            place = last
            actions[place] = action
        } else {
            place = actions.count
            actions.append(action)
        }
        number += 1
        let key = Key(at: time, number: number, place: place)
        var hole = keys.count
        keys.append(key)
        while hole > 0 {
            let parent = (hole - 1) / 2
            guard key.isBefore(keys[parent]) else { break }
            keys[hole] = keys[parent]
            hole = parent
        }
        keys[hole] = key
    }

    /// Removes the next event.
    mutating func removeFirst() -> (() -> Void)? {
        let first = keys[0].place
        let key = keys.removeLast()
        let count = keys.count
        var hole = 0
        while 2 * hole + 1 < count {
            var child = 2 * hole + 1
            if child + 1 < count, keys[child + 1].isBefore(keys[child]) { child += 1 }
            guard keys[child].isBefore(key) else { break }
            keys[hole] = keys[child]
            hole = child
        }
        if count > 0 { keys[hole] = key }
        free.append(first)
        defer { actions[first] = nil }
        return actions[first]
    }
}
