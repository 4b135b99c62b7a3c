import CarillonHTTP2
import CarillonIO

/// The ranges of one request's fields in the bytes of the request.
struct RequestHead: Sendable {
    /// A run of bytes. `isPresent` distinguishes an empty value from a missing one.
    struct Part: Sendable {
        private var start: Int32 = 0
        private var length: Int32 = -1

        init() {}

        init(_ range: Range<Int>) {
            start = Int32(truncatingIfNeeded: range.lowerBound)
            length = Int32(truncatingIfNeeded: range.count)
        }

        var isPresent: Bool { length >= 0 }
        var range: Range<Int> { isPresent ? Int(start)..<Int(start + length) : 0..<0 }
    }

    static let pathPrefix: StaticString = "/3/device/"

    private(set) var method = Part()
    private(set) var path = Part()
    private(set) var authorization = Part()
    private(set) var id = Part()
    private(set) var expiration = Part()
    private(set) var priority = Part()
    private(set) var pushType = Part()
    private(set) var topic = Part()
    private(set) var collapseID = Part()
    private(set) var channelID = Part()
    private(set) var requestID = Part()
    /// The name of the last field that occurred more than once.
    private(set) var duplicate: StaticString?

    init() {}

    init(_ fields: Span<RequestField>, in bytes: Span<UInt8>) {
        for index in 0..<fields.count {
            note(bytes.extracting(fields[index].name.range), at: fields[index].value.range)
        }
    }

    /// Records one field. Fields that APNs does not define are ignored.
    mutating func note(_ name: Span<UInt8>, at value: Range<Int>) {
        switch name.count {
        case 5 where name.equals(":path"): Self.set(&path, value, ":path", &duplicate)
        case 7 where name.equals("apns-id"): Self.set(&id, value, "apns-id", &duplicate)
        case 7 where name.equals(":method"): Self.set(&method, value, ":method", &duplicate)
        case 10 where name.equals("apns-topic"): Self.set(&topic, value, "apns-topic", &duplicate)
        case 13 where name.equals("authorization"): Self.set(&authorization, value, "authorization", &duplicate)
        case 13 where name.equals("apns-priority"): Self.set(&priority, value, "apns-priority", &duplicate)
        case 14 where name.equals("apns-push-type"): Self.set(&pushType, value, "apns-push-type", &duplicate)
        case 15 where name.equals("apns-expiration"): Self.set(&expiration, value, "apns-expiration", &duplicate)
        case 15 where name.equals("apns-channel-id"): Self.set(&channelID, value, "apns-channel-id", &duplicate)
        case 15 where name.equals("apns-request-id"): Self.set(&requestID, value, "apns-request-id", &duplicate)
        case 16 where name.equals("apns-collapse-id"): Self.set(&collapseID, value, "apns-collapse-id", &duplicate)
        default: break
        }
    }

    private static func set(
        _ part: inout Part,
        _ range: Range<Int>,
        _ name: StaticString,
        _ duplicate: inout StaticString?
    ) {
        if part.isPresent { duplicate = name }
        part = Part(range)
    }

    /// The range of the device token; empty unless the path is that of a push.
    func deviceToken(in bytes: Span<UInt8>) -> Range<Int> {
        guard bytes.extracting(path.range).hasPrefix(Self.pathPrefix) else { return 0..<0 }
        return path.range.dropFirst(Self.pathPrefix.utf8CodeUnitCount)
    }
}
