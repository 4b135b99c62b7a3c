import CarillonIO

/// Apps whose statements timed out waiting for a lock. Their next statements take the detour, so that they do not hold up
/// the shared connection. With three such apps, the whole table may be locked, so all apps take it. An app counts as locked
/// until a statement succeeds, or for half a minute.
struct LockedApps: Sendable {
    private static let many = 3
    private static let memory = Duration.seconds(30)

    /// Until when each counts as locked.
    private var apps: [Int32: MonotonicInstant] = [:]

    mutating func met(lockOf app: Int32, at now: MonotonicInstant) {
        apps = apps.filter { $0.value > now }
        apps[app] = now + Self.memory
    }

    mutating func passed(_ app: Int32) { apps.removeValue(forKey: app) }

    func mustDetour(_ app: Int32, at now: MonotonicInstant) -> Bool {
        guard !apps.isEmpty else { return false }
        let locked = apps.filter { $0.value > now }
        return locked[app] != nil || locked.count >= Self.many
    }
}
