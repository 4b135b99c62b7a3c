extension WorkerDatabase {
    /// What a connection of its own is opened for.
    enum Purpose: Hashable {
        case maintenance(MaintenanceTask.Name)
        case takeOver
        case notes
        case split
        case detour
    }
}
