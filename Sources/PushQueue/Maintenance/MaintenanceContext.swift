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

    init(
        _ core: Core,
        _ ledger: Ledger,
        _ database: WorkerDatabase,
        _ lease: LeaseKeeper,
        _ lookout: Lookout,
        _ breakers: BreakerWatch,
        _ backend: any Backend
    ) {
        self.core = core
        self.ledger = ledger
        self.database = database
        self.lease = lease
        self.lookout = lookout
        self.breakers = breakers
        self.backend = backend
        feedback = FeedbackReader(core, ledger, backend)
        channels = ChannelKeeper(core, ledger, backend)
    }
}
