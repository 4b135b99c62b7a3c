import CarillonPostgres

extension WorkerDatabase {
    /// What a connection of its own is opened for.
    enum Purpose: Hashable {
        case maintenance(MaintenanceTask.Name)
        case takeOver
        case notes
        case split
        case detour
    }

    struct LockTimeout {
        let error: PostgresError
        /// How many more were not logged.
        let suppressed: Int
    }
}
