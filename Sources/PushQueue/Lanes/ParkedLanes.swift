import CarillonIO

/// Lanes with rows that may not be claimed now: their app is paused, held or at its rate, or there is no room or memory for
/// a row. They are in no ring, so ten thousand of them cost nothing.
struct ParkedLanes: Sendable {
    struct ParkedApp {
        var lanes: [Lane] = []
        var known: Set<Lane> = []
        var alarm: (instant: MonotonicInstant, token: TimerToken)?
    }

    private(set) var apps: [Int32: ParkedApp] = [:]
    private var alarms = TimerHeap<Int32>()

    /// - Parameter instant: If nil, the lane is parked until the app is freed. All lanes of an app are freed at the earliest instant.
    mutating func park(_ lane: Lane, until instant: MonotonicInstant?) {
        // Taken out, so that the change of its lanes copies none.
        var parked = apps.removeValue(forKey: lane.app) ?? ParkedApp()
        if parked.known.insert(lane).inserted { parked.lanes.append(lane) }
        if let instant, parked.alarm.map({ instant < $0.instant }) ?? true {
            if let alarm = parked.alarm { alarms.remove(alarm.token) }
            parked.alarm = (instant, alarms.insert(at: instant, lane.app))
        }
        apps[lane.app] = parked
    }

    mutating func free(_ app: Int32) -> [Lane] {
        guard let parked = apps.removeValue(forKey: app) else { return [] }
        if let alarm = parked.alarm { alarms.remove(alarm.token) }
        return parked.lanes
    }

    /// Returns the lanes of one app whose time has come, if there is one.
    mutating func freeDue(at now: MonotonicInstant) -> [Lane]? {
        guard !apps.isEmpty, let app = alarms.popDue(at: now) else { return nil }
        return apps.removeValue(forKey: app)?.lanes ?? []
    }
}
