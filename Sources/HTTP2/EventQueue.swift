/// Events in the order in which they happened, in memory that is used again once all of them were read.
struct EventQueue<Event> {
    private var events: [Event] = []
    private var read = 0

    var isEmpty: Bool { self.read == self.events.count }

    mutating func append(_ event: Event) { self.events.append(event) }

    /// The oldest that was not read yet.
    mutating func next() -> Event? {
        guard self.read < self.events.count else {
            if self.read > 0 {
                self.events.removeAll(keepingCapacity: true)
                self.read = 0
            }
            return nil
        }
        defer { self.read += 1 }
        return self.events[self.read]
    }
}
