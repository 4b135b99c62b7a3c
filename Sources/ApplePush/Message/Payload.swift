import FoundationEssentials

/// The JSON body of a push: built from named fields, or given as bytes.
enum Payload: Hashable, Sendable {
    case built(aps: [String: APNs.JSON], extra: [String: APNs.JSON])
    case raw([UInt8])

    init(object: [String: APNs.JSON]) throws(PushError) {
        var extra = object
        switch extra.removeValue(forKey: "aps") {
        case .object(let aps): self = .built(aps: aps, extra: extra)
        case nil: self = .built(aps: [:], extra: extra)
        default: throw PushError(.invalidMessage, "“aps” in a payload must be an object.")
        }
    }

    /// Compact JSON in UTF-8, the same for the same fields.
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
                    "The payload contains a number that JSON cannot represent.",
                    underlying: error
                )
            }
        }
    }

    /// Apple's part of the payload; empty if the given bytes have none.
    var aps: [String: APNs.JSON] {
        if case .object(let aps) = object["aps"] { aps } else { [:] }
    }

    /// The app's own part of the payload.
    var extra: [String: APNs.JSON] {
        var object = self.object
        object["aps"] = nil
        return object
    }

    private var object: [String: APNs.JSON] {
        switch self {
        case .built(let aps, let extra): extra.merging(["aps": .object(aps)]) { _, ours in ours }
        case .raw(let bytes): (try? JSONDecoder().decode([String: APNs.JSON].self, from: Data(bytes))) ?? [:]
        }
    }
}
