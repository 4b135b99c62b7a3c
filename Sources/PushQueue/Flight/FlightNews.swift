import ApplePush

/// What the steps of a flight leave to be counted and told.
enum FlightNews: Sendable {
    /// A claim brought so many jobs, which had waited for so long.
    case claimed(jobs: Int, waits: DurationHistogram)
    case settled(Settlement, app: Int32)
    case happened(WorkerEvent)
    /// How an app fares.
    case reported(Report)
}
