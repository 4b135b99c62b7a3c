/// A request that is being received. Its memory is reused for the next one.
struct ServerSlot {
    static let none = UInt32.max

    var stream: Int32 = 0
    /// Whether the request's event has been queued, so that no more of it is received.
    var isQueued = false
    var hasTooManyFields = false
    /// Whether the header is complete; later fields are trailers, which are not kept.
    var hasHeader = false
    /// Whether the stream was closed before the event was read.
    var isClosed = false
    var fieldCount = 0
    var count = 0
    var capacity = 0
    var bodyStart = 0
    var bodyCount = 0
    /// Names and values, then the body.
    var bytes: UnsafeMutablePointer<UInt8>
    var fields: UnsafeMutablePointer<RequestField>
    var nextFree = ServerSlot.none

    init() {
        capacity = 1_024
        bytes = .allocate(capacity: capacity)
        fields = .allocate(capacity: ServerSettings.fieldCountLimit)
    }

    func deallocate() {
        bytes.deallocate()
        fields.deallocate()
    }

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
