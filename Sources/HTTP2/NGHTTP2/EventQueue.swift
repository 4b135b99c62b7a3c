/// A queue of events whose memory is reused once all of them have been read.
struct EventQueue<Event> {
    private var events: [Event] = []
    private var read = 0

    var isEmpty: Bool { read == events.count }

    mutating func append(_ event: Event) { events.append(event) }

    mutating func next() -> Event? {
        guard read < events.count else {
            if read > 0 {
                events.removeAll(keepingCapacity: true)
                read = 0
            }
            return nil
        }
        defer { read += 1 }
        return events[read]
    }
}
