/// Apps whose statements met a lock that somebody else holds.
///
/// Their next ones take the detour at once, so that they hold up the shared connection no more. Several such apps mean
/// that a whole table is locked: then all do.
struct LockedApps: Sendable {
    private static let many = 3

    private var apps: Set<Int32> = []

    mutating func met(lockOf app: Int32) { self.apps.insert(app) }
    mutating func passed(_ app: Int32) { self.apps.remove(app) }

    func takeDetour(_ app: Int32) -> Bool { self.apps.contains(app) || self.apps.count >= Self.many }
}
