import CarillonPostgres

struct OverviewQuery {
    let database: WebDatabase

    func run() async throws -> OverviewView {
        async let apps = AppStatus.bounded(most: Int64(OverviewView.most), from: database)
        async let workers: [WorkerRow] = database.values(of: WorkerRow.statement)
        async let buckets = ActivityQuery(database: database).run(app: nil, .hour)
        async let upkeep = Upkeep(from: database)
        async let latency = Latency(from: database)
        return OverviewView(
            apps: try await apps,
            workers: try await workers,
            buckets: try await buckets,
            upkeep: try await upkeep,
            latency: try await latency
        )
    }
}

/// Reads the buckets of a chart.
struct ActivityQuery {
    let database: WebDatabase

    func run(app: String?, _ span: ActivitySpan) async throws -> [ActivityBucket] {
        try await database.values(of: ActivityBucket.statement, Parameters(app, span.seconds, span.bucketSeconds))
    }
}
