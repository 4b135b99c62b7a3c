import IO

/// Apps whose statements met a lock.
///
/// Their next statements take the detour at once, so that they no longer hold up the shared connection. Several such apps
/// mean that a whole table is locked: then all apps take it. A statement that met a lock is tried again until it passes. An
/// app without further statements, because it was paused or removed, is soon forgotten.
struct LockedApps: Sendable {
    private static let many = 3
    /// Longer than the wait between two tries.
    private static let memory = Duration.seconds(30)

    /// Until when each counts as locked.
    private var apps: [Int32: MonotonicInstant] = [:]

    mutating func met(lockOf app: Int32, at now: MonotonicInstant) {
        apps = apps.filter { $0.value > now }
        apps[app] = now + Self.memory
    }

    mutating func passed(_ app: Int32) { apps.removeValue(forKey: app) }

    func takeDetour(_ app: Int32, at now: MonotonicInstant) -> Bool {
        guard !apps.isEmpty else { return false }
        let locked = apps.filter { $0.value > now }
        return locked[app] != nil || locked.count >= Self.many
    }
}
