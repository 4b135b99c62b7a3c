import IO

/// The permits that deliveries have, each with how many have it.
struct PermitCounts {
    private var entries: [ObjectIdentifier: (permit: SendingPermit, count: Int)] = [:]

    mutating func add(_ permit: SendingPermit) {
        entries[ObjectIdentifier(permit), default: (permit, 0)].count += 1
    }

    mutating func remove(_ permit: SendingPermit) {
        let key = ObjectIdentifier(permit)
        entries[key]?.count -= 1
        if entries[key]?.count == 0 { entries[key] = nil }
    }

    /// Whether every one of them lets its deliveries be sent.
    func allAllow(at now: MonotonicInstant) -> Bool { entries.values.allSatisfy { $0.permit.allows(at: now) } }
}
