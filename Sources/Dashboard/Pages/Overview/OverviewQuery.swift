import CarillonPostgres
import CarillonSchema

struct OverviewQuery {
    let database: ServiceRunner
    var span = PushCountSpan.hour

    func run() async throws -> OverviewView {
        async let apps = AppStatus.bounded(maxRows: Int64(OverviewView.maxApps), from: database)
        async let fleet = FleetReport(maxWorkers: WorkerRow.maxRows, maxApps: ReadDepth.maxApps, from: database)
        async let minutes = PushCounts.read(app: nil, .hour, from: database)
        async let day = span == .day ? PushCounts.read(app: nil, .day, from: database) : nil
        async let maintenance = MaintenanceReport(from: database)
        async let horizon = HorizonHolder.find(from: database)
        async let webhooks = WebhookRecord.all(
            onlyInactive: true,
            maxRows: Int64(OverviewView.maxWebhooks),
            countingTo: Followers.depth,
            from: database
        )
        async let latency = Latency(from: database)
        async let appCount = ReadDepth.appCount(from: database)
        let found = try await apps
        return OverviewView(
            apps: found,
            workers: try await fleet.workers,
            minutes: try await minutes,
            day: try await day,
            readsAllWebhooks: try await webhooks.count < OverviewView.maxWebhooks,
            countsMore: try await appCount > ReadDepth.maxApps,
            findings: OverviewFindings.all(
                apps: found,
                fleet: try await fleet,
                maintenance: try await maintenance,
                horizon: try await horizon,
                webhooks: try await webhooks
            ),
            latency: try await latency
        )
    }
}
