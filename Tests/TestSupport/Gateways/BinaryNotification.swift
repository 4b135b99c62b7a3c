/// A notification of the legacy binary protocol, as a gateway reads it.
package struct BinaryNotification: Equatable, Sendable {
    package struct Malformed: Error {}

    package var token: [UInt8] = []
    package var payload = ""
    package var identifier: UInt32?
    package var expiry: UInt32?
    package var priority: UInt8?

    /// A device token, as one number.
    package var number: Int { token.reduce(0) { $0 << 8 | Int($1) } }

    /// Six bytes that say that this one is refused.
    package func refusal(_ status: UInt8) -> [UInt8] {
        let identifier = self.identifier ?? 0
        return [8, status] + stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: identifier >> $0) }
    }
}

extension RawLine {
    /// The client's next notification; nil at its end.
    package mutating func nextNotification() async throws -> BinaryNotification? {
        guard let command = try await next(1) else { return nil }
        var notification = BinaryNotification()
        switch command[0] {
        case 0, 1:
            if command[0] == 1 {
                guard let identifier = try await number(4), let expiry = try await number(4) else { return nil }
                notification.identifier = UInt32(identifier)
                notification.expiry = UInt32(expiry)
            }
            guard let token = try await string(), let payload = try await string() else { return nil }
            notification.token = token
            notification.payload = String(decoding: payload, as: UTF8.self)
        case 2:
            guard let length = try await number(4), let frame = try await next(length) else { return nil }
            try notification.read(frame[...])
        default: throw BinaryNotification.Malformed()
        }
        return notification
    }

    private mutating func number(_ count: Int) async throws -> Int? {
        try await next(count)?.reduce(0) { $0 << 8 | Int($1) }
    }

    private mutating func string() async throws -> [UInt8]? {
        guard let count = try await number(2) else { return nil }
        return try await next(count)
    }
}

extension BinaryNotification {
    fileprivate mutating func read(_ frame: ArraySlice<UInt8>) throws {
        var rest = frame
        while let item = rest.popFirst() {
            guard rest.count >= 2 else { throw Malformed() }
            let count = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
            guard rest.count >= count else { throw Malformed() }
            let value = Array(rest.prefix(count))
            rest.removeFirst(count)
            let number = value.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
            switch (item, count) {
            case (1, _): token = value
            case (2, _): payload = String(decoding: value, as: UTF8.self)
            case (3, 4): identifier = number
            case (4, 4): expiry = number
            case (5, 1): priority = value[0]
            default: throw Malformed()
            }
        }
    }
}
