import CarillonIO
import CarillonTLS

/// The browsers that have given the password. Only digests of the session ids are kept.
struct SessionTable: Sendable {
    static let lifetime = Duration.seconds(12 * 3_600)
    static let limit = 1_000

    private var ends: [[UInt8]: MonotonicInstant] = [:]

    /// Adds a session, and forgets those that have ended. If there are too many, the one that ends first is forgotten.
    mutating func add(_ id: String, at now: MonotonicInstant) {
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.limit, let oldest = ends.min(by: { $0.value < $1.value })?.key { ends[oldest] = nil }
        ends[Self.digest(of: id)] = now + Self.lifetime
    }

    func contains(_ id: String, at now: MonotonicInstant) -> Bool {
        ends[Self.digest(of: id)].map { $0 > now } ?? false
    }

    mutating func remove(_ id: String) { ends[Self.digest(of: id)] = nil }

    private static func digest(of id: String) -> [UInt8] { Digest.sha256(Array(id.utf8).span.bytes) }
}
