import CarillonPostgres

struct WorkersQuery {
    let database: WebDatabase

    func run() async throws -> WorkersView {
        async let workers: [WorkerRow] = database.values(of: WorkerRow.statement)
        async let maintenance = MaintenanceFindings(from: database)
        return WorkersView(workers: try await workers, maintenance: try await maintenance)
    }
}
