import CarillonPostgres

extension WorkerRecord {
    /// As in "asleep since 2026-11-22 11:45:00 UTC".
    package var stateText: String {
        guard state == .asleep, let asleepSince else { return state.rawValue }
        return "\(state.rawValue) since \(asleepSince.readable)"
    }
}
