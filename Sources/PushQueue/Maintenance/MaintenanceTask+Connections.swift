import ApplePush

extension MaintenanceTask {
    /// Closes connections to gateways that nothing was sent over for a while.
    static let connections = MaintenanceTask(
        name: .connections,
        wait: { $0.maintenanceWait() },
        means: .none { worker in await worker.backend.outdate(idle: worker.options.idleTimeout) }
    )
}
