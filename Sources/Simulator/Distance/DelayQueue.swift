import CarillonIO

/// Bytes in transit in one direction. Each item comes out after the delay, in order. The end of a connection travels like bytes.
struct DelayQueue {
    enum Item: Equatable {
        case bytes([UInt8])
        /// The sender has closed its direction.
        case end
        /// The sender has reset the connection.
        case reset

        /// Its approximate memory use, because many small items also fill memory.
        fileprivate var load: Int {
            if case .bytes(let bytes) = self { 64 + bytes.count } else { 64 }
        }
    }

    let delay: Duration
    /// How much may be in transit.
    private let limit: Int
    private var load = 0
    private var items = Fifo<(due: MonotonicInstant, item: Item)>()
    /// Whether nothing more comes out and everything put in is dropped.
    private(set) var isClosed = false

    init(delay: Duration, limit: Int) {
        self.delay = delay
        self.limit = limit
    }

    /// Whether nothing should be put in until something has come out.
    var isFull: Bool { load >= limit }

    /// When the next item comes out; nil if nothing is in transit.
    var nextDue: MonotonicInstant? { items.first?.due }

    mutating func put(_ item: Item, at now: MonotonicInstant) {
        if isClosed { return }
        items.append((now + delay, item))
        load += item.load
    }

    /// The end has come out, or the receiver is gone.
    mutating func close() {
        isClosed = true
        (items, load) = (Fifo(), 0)
    }

    mutating func take(at now: MonotonicInstant) -> Item? {
        guard let due = nextDue, due <= now, let item = items.popFirst()?.item else { return nil }
        load -= item.load
        return item
    }
}
