/// Pushes that go to one gateway with one credential: headings, each the message that several pushes share, and the
/// pushes under them. Everything lies in a few flat arrays, so a batch of a million costs no more objects than one.
public struct PushBatch: Sendable {
    /// Where bytes lie in the arena.
    package struct Extent: Hashable, Sendable {
        package let start: UInt32
        package let count: UInt32

        package var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
    }

    /// The header fields that headings next to each other often have in common.
    package struct Fields: Sendable {
        package let topic: Extent
        package let collapseID: Extent
        package let expiration: Int64?
        package let priority: UInt8?
        package let pushType: PushType
    }

    /// One message: its payload, and which fields go with it.
    package struct Heading: Sendable {
        package let payload: Extent
        package let fields: Int32
    }

    /// One push: its token, its identity, and the heading it stands under.
    package struct Push: Sendable {
        package let id: PushID
        package let token: Extent
        package let heading: Int32
        package let isMalformed: Bool
    }

    package private(set) var bytes: [UInt8] = []
    package private(set) var fields: [Fields] = []
    package private(set) var headings: [Heading] = []
    package private(set) var pushes: [Push] = []

    /// A batch of nothing.
    public init() {}

    /// How many pushes there are.
    public var count: Int { pushes.count }

    /// Whether there is nothing to send.
    public var isEmpty: Bool { pushes.isEmpty }

    /// Makes room ahead of time.
    public mutating func reserve(pushes: Int, headings: Int, bytes: Int) {
        self.pushes.reserveCapacity(pushes)
        self.headings.reserveCapacity(headings)
        self.bytes.reserveCapacity(bytes)
    }

    /// Adds a message.
    ///
    /// - Parameters:
    ///   - payload: The JSON, sent byte for byte.
    ///   - topic: The topic, or nothing to let the certificate decide.
    ///   - pushType: The kind of push.
    ///   - priority: 10, 5 or 1, or nil for the push type's default.
    ///   - expiration: Seconds since 1970 until which Apple keeps trying; 0: tries once; nil: as Apple sees fit.
    ///   - collapseID: The group of which a device shows only the last push, or nothing.
    /// - Returns: What to name as heading of the pushes that carry this message.
    public mutating func addHeading(
        payload: RawSpan,
        topic: RawSpan,
        pushType: PushType = .alert,
        priority: UInt8? = nil,
        expiration: Int64? = nil,
        collapseID: RawSpan
    ) -> Int {
        let priority = priority ?? pushType.defaultPriority
        let isAsBefore =
            if let last = self.fields.last {
                last.pushType == pushType && last.priority == priority && last.expiration == expiration
                    && holds(topic, at: last.topic) && holds(collapseID, at: last.collapseID)
            } else {
                false
            }
        if !isAsBefore {
            let fields = Fields(
                topic: store(topic),
                collapseID: store(collapseID),
                expiration: expiration,
                priority: priority,
                pushType: pushType
            )
            self.fields.append(fields)
        }
        headings.append(Heading(payload: store(payload), fields: Int32(self.fields.count - 1)))
        return headings.count - 1
    }

    /// Adds a push of a message to one device.
    ///
    /// A token that is not 1 to 256 bytes in hexadecimal is never sent: its outcome says `Reason.malformedToken`.
    ///
    /// - Parameters:
    ///   - token: The device token in hexadecimal digits.
    ///   - heading: What `addHeading` returned.
    ///   - id: The identity of the push.
    public mutating func addPush(token: RawSpan, heading: Int, id: PushID) {
        addPush(token: token, heading: heading, id: id, isMalformed: DeviceToken.Form(token) == .malformed)
    }

    /// The same for a caller that has checked the token.
    package mutating func addPush(token: RawSpan, heading: Int, id: PushID, isMalformed: Bool) {
        precondition(headings.indices.contains(heading), "There is no heading \(heading) in this batch.")
        let push = Push(id: id, token: store(token), heading: Int32(heading), isMalformed: isMalformed)
        pushes.append(push)
    }

    private mutating func store(_ bytes: RawSpan) -> Extent {
        let extent = Extent(start: UInt32(self.bytes.count), count: UInt32(bytes.byteCount))
        self.bytes.append(copying: bytes)
        return extent
    }

    private func holds(_ bytes: RawSpan, at extent: Extent) -> Bool {
        guard bytes.byteCount == Int(extent.count) else { return false }
        for offset in bytes.byteOffsets where bytes[byte: offset] != self.bytes[Int(extent.start) + offset] {
            return false
        }
        return true
    }
}
