/// What maintenance tasks work with.
struct MaintenanceTools {
    let context: WorkerContext
    let database: WorkerDatabase
    let lease: LeaseKeeper
    let lookout: Lookout
    let pushCounts: PushCountWriter
    let legacyFeedback: LegacyFeedbackReader
    let channels: ChannelKeeper
}
