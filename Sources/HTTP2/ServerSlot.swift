/// A request on its way in. Its memory is kept for the next one.
struct ServerSlot {
    static let none = UInt32.max

    var stream: Int32 = 0
    /// No more is to come: the request's event is in the queue, at its reader, or was read. False while it comes in.
    var isQueued = false
    var hasTooManyFields = false
    /// Header fields are being received that come after the body: they are not kept.
    var hasHeader = false
    /// The stream is gone, though the event is not read yet.
    var isClosed = false
    var fieldCount = 0
    var count = 0
    var capacity = 0
    var bodyStart = 0
    var bodyCount = 0
    /// Names, values, and then the body.
    var bytes: UnsafeMutablePointer<UInt8>
    var fields: UnsafeMutablePointer<Field>
    var nextFree = ServerSlot.none

    init(fieldCountLimit: Int) {
        capacity = 1_024
        bytes = .allocate(capacity: capacity)
        fields = .allocate(capacity: fieldCountLimit)
    }

    func deallocate() {
        bytes.deallocate()
        fields.deallocate()
    }

    /// Forgets the last request, not its memory.
    mutating func begin(stream: Int32) {
        self.stream = stream
        (isQueued, hasTooManyFields, hasHeader, isClosed) = (false, false, false, false)
        (fieldCount, count, bodyStart, bodyCount) = (0, 0, 0, 0)
    }

    mutating func append(_ source: UnsafePointer<UInt8>?, _ count: Int) {
        guard count > 0, let source else { return }
        if self.count + count > capacity { grow(to: self.count + count) }
        (bytes + self.count).update(from: source, count: count)
        self.count += count
    }

    private mutating func grow(to count: Int) {
        let capacity = max(count, self.capacity * 2)
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        bytes.update(from: self.bytes, count: self.count)
        self.bytes.deallocate()
        (self.bytes, self.capacity) = (bytes, capacity)
    }
}
