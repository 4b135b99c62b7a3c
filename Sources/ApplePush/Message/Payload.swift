import FoundationEssentials

/// What a push carries: built from named fields, or taken as it is.
enum Payload: Hashable, Sendable {
    case built(aps: [String: JSON], extra: [String: JSON])
    case raw([UInt8])

    /// Takes an object apart into Apple's part and the app's own.
    init(object: [String: JSON]) throws(PushError) {
        var extra = object
        switch extra.removeValue(forKey: "aps") {
        case .object(let aps): self = .built(aps: aps, extra: extra)
        case nil: self = .built(aps: [:], extra: extra)
        default: throw PushError(.invalidMessage, "In a payload “aps” is an object.")
        }
    }

    /// The bytes that are sent: compact, UTF-8, always the same for the same fields.
    func bytes() throws(PushError) -> [UInt8] {
        switch self {
        case .raw(let bytes): return bytes
        case .built(let aps, let extra):
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            do {
                return try Array(encoder.encode(extra.merging(["aps": .object(aps)]) { _, ours in ours }))
            } catch {
                throw PushError(
                    .invalidMessage,
                    "The payload holds a number that JSON cannot write.",
                    underlying: error
                )
            }
        }
    }

    /// Apple's part of the payload; empty if the payload was given whole and is no such JSON.
    var aps: [String: JSON] {
        if case .object(let aps) = object["aps"] { aps } else { [:] }
    }

    /// The app's own part of the payload.
    var extra: [String: JSON] {
        var object = self.object
        object["aps"] = nil
        return object
    }

    private var object: [String: JSON] {
        switch self {
        case .built(let aps, let extra): extra.merging(["aps": .object(aps)]) { _, ours in ours }
        case .raw(let bytes): (try? JSONDecoder().decode([String: JSON].self, from: Data(bytes))) ?? [:]
        }
    }
}
