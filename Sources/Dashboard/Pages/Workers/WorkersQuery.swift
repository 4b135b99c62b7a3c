import CarillonPostgres
import CarillonSchema

struct WorkersQuery {
    let database: ServiceRunner

    func run() async throws -> WorkersView {
        async let workers: [WorkerRow] = database.values(of: WorkerRow.statement)
        async let maintenance = MaintenanceReport(from: database)
        async let horizon = HorizonHolder.find(from: database)
        return WorkersView(
            workers: try await workers,
            maintenance: try await maintenance,
            horizon: try await horizon
        )
    }
}
