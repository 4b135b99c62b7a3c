import CarillonIO

/// Apps with a settlement that PostgreSQL refused for its content.
///
/// Until a settlement that was sent as a try is written, each of their lanes has one claim at a time, and each settlement takes a
/// try but leaves one for others. An app that has waited two seconds may settle anyway; five may do so each second.
struct RefusedSettlements: Sendable {
    private static let longestWait = Duration.seconds(2)
    private static let interval = Duration.milliseconds(200)
    /// How long an app is remembered that has no claims, for example because its messages were cancelled.
    private static let memory = Duration.seconds(600)

    /// How many claims of each lane are under way or not settled, without those that cannot be settled.
    private var claims: [Lane: Int] = [:]
    /// When a settlement of each app was tried last.
    private var latest: [Int32: MonotonicInstant] = [:]
    private var latestExtra: MonotonicInstant?

    mutating func claimed(_ lane: Lane) { claims[lane, default: 0] += 1 }

    mutating func ended(_ lane: Lane) {
        guard let count = claims[lane] else { return }
        claims[lane] = count > 1 ? count - 1 : nil
    }

    func contains(_ app: Int32) -> Bool { !latest.isEmpty && latest[app] != nil }

    func mayClaim(_ lane: Lane) -> Bool { !contains(lane.app) || claims[lane] == nil }

    mutating func refused(_ app: Int32, at now: MonotonicInstant) { latest[app] = now }

    /// A settlement that was sent as a try is written. Returns whether one of the app was refused before.
    mutating func written(_ app: Int32) -> Bool { !latest.isEmpty && latest.removeValue(forKey: app) != nil }

    /// Whether a settlement of this app may be sent now.
    /// - Parameter hasTry: A try was taken for it.
    mutating func mayTry(_ app: Int32, at now: MonotonicInstant, hasTry: Bool) -> Bool {
        if !hasTry {
            guard now - (latest[app] ?? now) >= Self.longestWait else { return false }
            if let latestExtra, now - latestExtra < Self.interval { return false }
            latestExtra = now
        }
        latest[app] = now
        return true
    }

    mutating func forgetIdle(at now: MonotonicInstant) {
        guard latest.contains(where: { now - $0.value >= Self.memory }) else { return }
        let busy = Set(claims.keys.map(\.app))
        latest = latest.filter { now - $0.value < Self.memory || busy.contains($0.key) }
    }
}
