/// Reads the notifications of the legacy binary protocol from bytes that arrive in pieces. A value.
struct NotificationReader: Sendable {
    enum Next: Equatable {
        case notification(Notification)
        /// The bytes are not a notification, or do not match their announced lengths. The rest cannot be read.
        case malformed(identifier: UInt32)
        /// More bytes are needed.
        case incomplete
    }

    /// The items of a frame, with Apple's numbers.
    private enum Item: UInt8 {
        case token = 1
        case payload, identifier, expiration, priority
    }

    /// A frame has at most about 2,200 bytes. A longer one is refused before it can fill memory.
    private static let longestFrame = 16_384

    private(set) var bytes: [UInt8] = []
    private var place = 0

    /// Whether the client has begun a notification and not completed it.
    var isWithinNotification: Bool { place < bytes.count }

    mutating func append(_ more: ArraySlice<UInt8>) {
        bytes.removeFirst(place)
        place = 0
        bytes.append(contentsOf: more)
    }

    /// The next notification. Its ranges are valid in `bytes` until the next `append`.
    mutating func next() -> Next {
        var cursor = Cursor(bytes, from: place)
        guard let command = cursor.byte() else { return .incomplete }
        var notification = Notification(command: command)
        switch command {
        case 0, 1:
            if command == 1 {
                guard let identifier = cursor.number(), let expiration = cursor.number() else { return .incomplete }
                notification.identifier = identifier
                notification.expiration = expiration
            }
            guard let token = cursor.part(), let payload = cursor.part() else { return .incomplete }
            (notification.token, notification.payload) = (token, payload)
            place = cursor.place
        case 2:
            guard let length = cursor.number() else { return .incomplete }
            guard length <= Self.longestFrame else { return .malformed(identifier: 0) }
            guard let frame = cursor.bytes(Int(length)) else { return .incomplete }
            place = cursor.place
            var items = Cursor(bytes, from: frame.lowerBound, to: frame.upperBound)
            guard readItems(&items, into: &notification) else { return .malformed(identifier: notification.identifier) }
        default: return .malformed(identifier: 0)
        }
        return .notification(notification)
    }

    /// Returns false if the items do not fill the frame, an item occurs twice, or an item has a wrong length or value.
    private func readItems(_ items: inout Cursor, into notification: inout Notification) -> Bool {
        var seen: UInt8 = 0
        while let number = items.byte() {
            guard let item = Item(rawValue: number), seen & 1 << number == 0, let value = items.part() else {
                return false
            }
            seen |= 1 << number
            var content = Cursor(bytes, from: value.lowerBound, to: value.upperBound)
            switch (item, value.count) {
            case (.token, _): notification.token = value
            case (.payload, _): notification.payload = value
            case (.identifier, 4): notification.identifier = content.number() ?? 0
            case (.expiration, 4): notification.expiration = content.number()
            case (.priority, 1) where bytes[value.lowerBound] == 10 || bytes[value.lowerBound] == 5:
                notification.priority = bytes[value.lowerBound]
            default: return false
            }
        }
        return true
    }
}

/// Reads big-endian values; nil if the bytes end too soon.
private struct Cursor {
    private let all: [UInt8]
    private(set) var place: Int
    private let end: Int

    init(_ all: [UInt8], from place: Int, to end: Int? = nil) {
        self.all = all
        self.place = place
        self.end = end ?? all.count
    }

    mutating func bytes(_ count: Int) -> Range<Int>? {
        guard end - place >= count else { return nil }
        defer { place += count }
        return place..<place + count
    }

    mutating func byte() -> UInt8? { bytes(1).map { all[$0.lowerBound] } }

    mutating func number() -> UInt32? { bytes(4)?.reduce(0) { $0 << 8 | UInt32(all[$1]) } }

    /// Reads a two-byte length and that many bytes.
    mutating func part() -> Range<Int>? {
        guard let length = bytes(2) else { return nil }
        return bytes(length.reduce(0) { $0 << 8 | Int(all[$1]) })
    }
}
