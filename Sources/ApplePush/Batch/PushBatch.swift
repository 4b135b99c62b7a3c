package import CarillonIO

/// Pushes to one gateway with one credential: headings, each a message that several pushes share, and the pushes under them.
/// Everything is in a few flat arrays, so a batch of a million pushes has no more heap objects than a batch of one. The position of
/// a push is its number in the batch, from 0.
public struct PushBatch: Sendable {
    /// Header fields, which adjacent headings often share.
    package struct Fields: Sendable {
        package let topic: ByteRange
        package let collapseID: ByteRange
        package let expiration: Int64?
        package let priority: UInt8?
        package let pushType: PushType
    }

    /// One message: its payload, and the index of its fields.
    package struct Heading: Sendable {
        package let payload: ByteRange
        package let fields: Int32
    }

    /// One push: its token, its identity, and the index of its heading.
    package struct Push: Sendable {
        package let id: PushID
        package let token: ByteRange
        package let heading: Int32
        package let isMalformed: Bool
    }

    package private(set) var bytes: [UInt8] = []
    package private(set) var fields: [Fields] = []
    package private(set) var headings: [Heading] = []
    package private(set) var pushes: [Push] = []

    /// An empty batch.
    public init() {}

    /// How many pushes there are.
    public var count: Int { pushes.count }

    /// Whether there are no pushes.
    public var isEmpty: Bool { pushes.isEmpty }

    /// Reserves memory.
    public mutating func reserve(pushes: Int, headings: Int, bytes: Int) {
        self.pushes.reserveCapacity(pushes)
        self.headings.reserveCapacity(headings)
        self.bytes.reserveCapacity(bytes)
    }

    /// Adds a message.
    ///
    /// - Parameters:
    ///   - payload: The JSON, sent byte for byte.
    ///   - topic: The topic; if empty, the certificate's.
    ///   - pushType: The push type.
    ///   - priority: 10, 5 or 1; nil for the push type's default.
    ///   - expiration: When Apple stops trying, in seconds since 1970; 0 to try once; nil for Apple's default.
    ///   - collapseID: The group of pushes of which a device shows only the last; empty for none.
    /// - Returns: The heading, for `addPush`.
    public mutating func addHeading(
        payload: RawSpan,
        topic: RawSpan,
        pushType: PushType = .alert,
        priority: UInt8? = nil,
        expiration: Int64? = nil,
        collapseID: RawSpan
    ) -> Int {
        let fields = addFields(
            topic: topic,
            pushType: pushType,
            priority: priority,
            expiration: expiration,
            collapseID: collapseID
        )
        return addHeading(payload: payload, fields: fields)
    }

    /// Adds header fields for messages added later, and returns their index.
    package mutating func addFields(
        topic: RawSpan,
        pushType: PushType,
        priority: UInt8?,
        expiration: Int64?,
        collapseID: RawSpan
    ) -> Int32 {
        let priority = priority ?? pushType.defaultPriority?.rawValue
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
        return Int32(self.fields.count - 1)
    }

    /// Adds a message with fields that have already been added.
    package mutating func addHeading(payload: RawSpan, fields: Int32) -> Int {
        headings.append(Heading(payload: store(payload), fields: fields))
        return headings.count - 1
    }

    /// Adds a message like an existing heading's, with a push's identity as its collapse ID.
    package mutating func addHeading(like heading: Int, collapsing id: PushID) -> Int {
        let model = headings[heading]
        let usual = fields[Int(model.fields)]
        let start = bytes.count
        id.write(into: &bytes)
        fields.append(
            Fields(
                topic: usual.topic,
                collapseID: ByteRange(start: UInt32(start), count: UInt32(bytes.count - start)),
                expiration: usual.expiration,
                priority: usual.priority,
                pushType: usual.pushType
            )
        )
        headings.append(Heading(payload: model.payload, fields: Int32(fields.count - 1)))
        return headings.count - 1
    }

    /// The heading that was added last, if it has this payload and these fields.
    package func lastHeading(payload: RawSpan, fields: Int32) -> Int? {
        guard let last = headings.last, last.fields == fields, holds(payload, at: last.payload) else { return nil }
        return headings.count - 1
    }

    /// Adds a push of a message to one device.
    ///
    /// A token that is not 1 to 256 bytes in hexadecimal is not sent: its outcome has `Reason.malformedToken`.
    ///
    /// - Parameters:
    ///   - token: The device token in hexadecimal digits.
    ///   - heading: The heading that `addHeading` returned.
    ///   - id: The identity of the push.
    public mutating func addPush(token: RawSpan, heading: Int, id: PushID) {
        addPush(token: token, heading: heading, id: id, isMalformed: DeviceToken.Form(token) == .malformed)
    }

    /// The same for a caller that has already checked the token.
    package mutating func addPush(token: RawSpan, heading: Int, id: PushID, isMalformed: Bool) {
        precondition(headings.indices.contains(heading), "There is no heading \(heading) in this batch.")
        pushes.append(Push(id: id, token: store(token), heading: Int32(heading), isMalformed: isMalformed))
    }

    /// Adds bytes that belong to no push, so that a caller needs no array of its own for them.
    package mutating func store(_ bytes: RawSpan) -> ByteRange {
        let extent = ByteRange(start: UInt32(self.bytes.count), count: UInt32(bytes.byteCount))
        self.bytes.append(copying: bytes)
        return extent
    }

    private func holds(_ bytes: RawSpan, at extent: ByteRange) -> Bool {
        self.bytes.withSpan(extent.range) { $0.equals(bytes) }
    }
}

/// The pushes of a batch one by one, for other backends.
extension PushBatch {
    /// The token of the push at this position.
    public func token(of position: Int) -> String {
        String(decoding: bytes[pushes[position].token.range], as: UTF8.self)
    }

    /// Whether the token of the push at this position is not 1 to 256 bytes in hexadecimal: such a push is not sent.
    public func isMalformed(_ position: Int) -> Bool { pushes[position].isMalformed }

    /// The identity of the push at this position.
    public func id(of position: Int) -> PushID { pushes[position].id }

    /// The payload of the push at this position.
    public func payload(of position: Int) -> [UInt8] {
        Array(bytes[headings[Int(pushes[position].heading)].payload.range])
    }

    /// The topic of the push at this position; nil for the certificate's.
    public func topic(of position: Int) -> String? { text(fields(of: position).topic) }

    /// The collapse identifier of the push at this position.
    public func collapseID(of position: Int) -> String? { text(fields(of: position).collapseID) }

    /// The type of the push at this position.
    public func pushType(of position: Int) -> PushType { fields(of: position).pushType }

    /// The priority of the push at this position.
    public func priority(of position: Int) -> UInt8? { fields(of: position).priority }

    /// When Apple stops trying to deliver the push at this position, in seconds since 1970.
    public func expiration(of position: Int) -> Int64? { fields(of: position).expiration }

    private func fields(of position: Int) -> Fields {
        fields[Int(headings[Int(pushes[position].heading)].fields)]
    }

    private func text(_ extent: ByteRange) -> String? {
        extent.count == 0 ? nil : String(decoding: bytes[extent.range], as: UTF8.self)
    }
}
