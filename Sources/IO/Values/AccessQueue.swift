/// Access for a few at a time. The others wait, and get it in the order of their arrival.
package struct AccessQueue<Waiter> {
    private let places: Int
    private var taken = 0
    private var waiting = Fifo<Waiter>()

    package init(places: Int) { self.places = places }

    /// Returns whether the waiter has access. If not, a later `leave` returns it.
    package mutating func join(_ waiter: Waiter) -> Bool {
        guard taken == places else {
            taken += 1
            return true
        }
        waiting.append(waiter)
        return false
    }

    /// One that had access is done. Returns the one that has it now.
    package mutating func leave() -> Waiter? {
        let next = waiting.popFirst()
        if next == nil { taken -= 1 }
        return next
    }

    /// Returns all that wait, who get no access.
    package mutating func dismiss() -> [Waiter] {
        var all: [Waiter] = []
        while let next = waiting.popFirst() { all.append(next) }
        return all
    }
}
