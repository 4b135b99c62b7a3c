import CarillonIO
import CarillonTLS

/// The browsers that have logged in. Only digests of the session ids are kept.
struct SessionTable: Sendable {
    static let lifetime = Duration.seconds(12 * 3_600)
    static let maxSessions = 1_000

    struct Session: Sendable {
        /// The name that the person entered.
        let name: String?
        let mayChange: Bool
        fileprivate let end: MonotonicInstant
    }

    private var sessions: [[UInt8]: Session] = [:]

    /// Adds a session and removes those that have ended. If there are too many, removes the one that ends first among those with
    /// the same right, so that readers cannot log out operators.
    mutating func add(_ id: String, name: String? = nil, mayChange: Bool = false, at now: MonotonicInstant) {
        sessions = sessions.filter { $0.value.end > now }
        if sessions.count >= Self.maxSessions {
            let alike = sessions.filter { $0.value.mayChange == mayChange }
            let oldest = (alike.isEmpty ? sessions : alike).min { $0.value.end < $1.value.end }
            if let oldest { sessions[oldest.key] = nil }
        }
        sessions[Self.digest(of: id)] = Session(name: name, mayChange: mayChange, end: now + Self.lifetime)
    }

    func session(_ id: String, at now: MonotonicInstant) -> Session? {
        guard let session = sessions[Self.digest(of: id)], session.end > now else { return nil }
        return session
    }

    mutating func remove(_ id: String) { sessions[Self.digest(of: id)] = nil }

    private static func digest(of id: String) -> [UInt8] { Digest.sha256(Array(id.utf8).span.bytes) }
}
