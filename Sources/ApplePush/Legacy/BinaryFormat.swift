import CarillonIO

/// How notifications are written in the legacy binary protocol.
public enum BinaryFormat: UInt8, Sendable, CaseIterable {
    /// Command 0: device token and payload. The gateway never says which notification was wrong: it closes the connection, and the
    /// outcome of all notifications in the window is unknown. Every retry then repeats a bad token. Use another format if the
    /// gateway accepts one, and limit the retries if it does not.
    case simple = 0
    /// Command 1: also an identifier and an expiration.
    case enhanced = 1
    /// Command 2: frames of items, including the priority.
    case frames = 2

    /// Whether the gateway can name the notification that it refuses.
    var hasIdentifiers: Bool { self != .simple }
}

extension BinaryFormat {
    /// Appends the notification of the push at this position, and returns its length. Nil if the payload is too long for the
    /// format; then nothing is appended.
    func append(_ position: Int, of batch: PushBatch, identifier: UInt32, to output: inout [UInt8]) -> Int? {
        let push = batch.pushes[position]
        let heading = batch.headings[Int(push.heading)]
        guard heading.payload.count <= UInt16.max else { return nil }
        let fields = batch.fields[Int(heading.fields)]
        return batch.bytes.withSpan(push.token.range) { token in
            batch.bytes.withSpan(heading.payload.range) { payload in
                append(token: token, payload, identifier: identifier, fields.expiration, fields.priority, to: &output)
            }
        }
    }

    /// Appends a notification that every gateway refuses, because it has no device token. The error proves that all notifications
    /// before it were accepted. Nil if the format has no errors.
    func appendBarrier(identifier: UInt32, to output: inout [UInt8]) -> Int? {
        guard hasIdentifiers else { return nil }
        let nothing: [UInt8] = []
        return nothing.withSpan(0..<0) { append(token: $0, $0, identifier: identifier, nil, nil, to: &output) }
    }

    private func append(
        token: RawSpan,
        _ payload: RawSpan,
        identifier: UInt32,
        _ expiration: Int64?,
        _ priority: UInt8?,
        to output: inout [UInt8]
    ) -> Int {
        let values = token.byteCount / 2 + payload.byteCount
        let expiry = expiration.map { UInt32(clamping: $0) }
        // The protocol has no priority 1; the closest is 5.
        let priority = priority.map { $0 == 10 ? $0 : 5 }
        let length =
            switch self {
            case .simple: 5 + values
            case .enhanced: 13 + values
            case .frames: 18 + values + (expiry == nil ? 0 : 7) + (priority == nil ? 0 : 4)
            }
        output.append(addingCapacity: length) { output in
            output.append(rawValue)
            switch self {
            case .simple:
                output.append(device: token)
                output.append(lengthAnd: payload)
            case .enhanced:
                output.append(number: identifier)
                // A push without an expiration is kept as long as the gateway likes.
                output.append(number: expiry ?? .max)
                output.append(device: token)
                output.append(lengthAnd: payload)
            case .frames:
                output.append(number: UInt32(length - 5))
                output.append(1)
                output.append(device: token)
                output.append(2)
                output.append(lengthAnd: payload)
                output.append(item: 3, identifier)
                if let expiry { output.append(item: 4, expiry) }
                if let priority { output.append(item: 5, priority) }
            }
        }
        return length
    }
}

/// The values of the protocol, which are big-endian.
extension OutputSpan where Element == UInt8 {
    fileprivate mutating func append(number: UInt32) {
        append(count: UInt16(number >> 16))
        append(count: UInt16(truncatingIfNeeded: number))
    }

    private mutating func append(count: UInt16) {
        append(UInt8(count >> 8))
        append(UInt8(truncatingIfNeeded: count))
    }

    fileprivate mutating func append(lengthAnd bytes: RawSpan) {
        append(count: UInt16(bytes.byteCount))
        for offset in bytes.byteOffsets { append(bytes[byte: offset]) }
    }

    /// Appends the length and the bytes of a device token given in hexadecimal digits.
    fileprivate mutating func append(device token: RawSpan) {
        append(count: UInt16(token.byteCount / 2))
        for offset in stride(from: 0, to: token.byteCount, by: 2) {
            append(Self.value(of: token[byte: offset]) << 4 | Self.value(of: token[byte: offset + 1]))
        }
    }

    fileprivate mutating func append(item: UInt8, _ number: UInt32) {
        append(item)
        append(count: 4)
        append(number: number)
    }

    fileprivate mutating func append(item: UInt8, _ value: UInt8) {
        append(item)
        append(count: 1)
        append(value)
    }

    /// The lower four bits of a letter are nine less than its value. Branch-free, because it runs for every digit of every push;
    /// the batch has already rejected other characters.
    private static func value(of digit: UInt8) -> UInt8 { (digit & 0xf) + (digit >> 6) * 9 }
}
