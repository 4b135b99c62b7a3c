import FoundationEssentials

/// The JSON body of a push: built from named fields, or given as bytes.
enum Payload: Hashable, Sendable {
    case built(aps: [String: APNs.JSON], extra: [String: APNs.JSON])
    case raw([UInt8])
    /// Given bytes that are not a JSON object, after an attempt to set a field in them. They are not sent.
    case unchangeable([UInt8])

    init(object: [String: APNs.JSON]) throws(PushError) {
        var extra = object
        switch extra.removeValue(forKey: "aps") {
        case .object(let aps): self = .built(aps: aps, extra: extra)
        case nil: self = .built(aps: [:], extra: extra)
        default: throw PushError(.invalidMessage, "“aps” in a payload must be an object.")
        }
    }

    /// Whether the app's part has a member `aps` too.
    var hasTwoAPS: Bool {
        if case .built(_, let extra) = self { extra["aps"] != nil } else { false }
    }

    /// Compact JSON in UTF-8, the same for the same fields.
    func bytes() throws(PushError) -> [UInt8] {
        if case .raw(let bytes) = self { return bytes }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let object = try object()
        do {
            return try Array(encoder.encode(object))
        } catch {
            throw PushError(
                .invalidMessage,
                "The payload contains a number that JSON cannot represent.",
                underlying: error
            )
        }
    }

    /// All members of the payload.
    func object() throws(PushError) -> [String: APNs.JSON] {
        switch self {
        case .built(let aps, let extra):
            if hasTwoAPS { throw .apsInExtra }
            return extra.merging(["aps": .object(aps)]) { _, ours in ours }
        case .raw(let bytes): return Self.members(of: bytes) ?? [:]
        case .unchangeable:
            throw PushError(
                .invalidMessage,
                "No field can be set in this payload: it is not a JSON object, or its “aps” is none."
            )
        }
    }

    /// Apple's part of the payload; empty if the given bytes have none.
    var aps: [String: APNs.JSON] {
        switch self {
        case .built(let aps, _): aps
        case .raw(let bytes), .unchangeable(let bytes):
            if case .object(let aps) = Self.members(of: bytes)?["aps"] { aps } else { [:] }
        }
    }

    /// The app's own part of the payload.
    var extra: [String: APNs.JSON] {
        switch self {
        case .built(_, let extra): return extra
        case .raw(let bytes), .unchangeable(let bytes):
            var object = Self.members(of: bytes) ?? [:]
            object["aps"] = nil
            return object
        }
    }

    /// Sets a member of `aps`, or removes it.
    mutating func set(_ value: APNs.JSON?, as member: APSMember) {
        change { aps, _ in aps[member] = value }
    }

    /// Changes both parts. Given bytes become fields first.
    mutating func change(_ change: (inout [String: APNs.JSON], inout [String: APNs.JSON]) -> Void) {
        if case .raw(let bytes) = self {
            self = Self.members(of: bytes).flatMap { try? Self(object: $0) } ?? .unchangeable(bytes)
        }
        guard case .built(var aps, var extra) = self else { return }
        change(&aps, &extra)
        self = .built(aps: aps, extra: extra)
    }

    private static func members(of bytes: [UInt8]) -> [String: APNs.JSON]? {
        try? JSONDecoder().decode([String: APNs.JSON].self, from: Data(bytes))
    }
}
