/// What maintenance tasks work with.
struct MaintenanceTools {
    let context: WorkerContext
    let database: WorkerDatabase
    let lease: LeaseKeeper
    let lookout: Lookout
    let breakers: BreakerWatch
    let legacyFeedback: LegacyFeedbackReader
    let channels: ChannelKeeper
}
