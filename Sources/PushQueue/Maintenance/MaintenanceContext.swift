import ApplePush

/// What maintenance tasks work with.
struct MaintenanceContext {
    let core: Core
    let ledger: Ledger
    let database: WorkerDatabase
    let lease: LeaseKeeper
    let lookout: Lookout
    let breakers: BreakerWatch
    let feedback: FeedbackReader
    let channels: ChannelKeeper
    let backend: any Backend
}
