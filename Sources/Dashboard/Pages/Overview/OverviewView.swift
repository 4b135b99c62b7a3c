import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// The first page: how much is sent, how much waits, and what is wrong.
struct OverviewView: PageView {
    /// The maximum number of apps that are read, in order of name.
    static let maxApps = 200
    /// The maximum number of webhooks that are read, of those that do not work.
    static let maxWebhooks = 50
    /// The maximum number of apps that are shown.
    private static let shown = 20

    let apps: [AppStatus]
    let workers: [WorkerRecord]
    /// The last hour.
    let minutes: [PushCounts]
    /// The last day; nil if the chart shows the last hour.
    let day: [PushCounts]?
    let readsAllWebhooks: Bool
    /// Whether there are more apps than `minutes` and `day` cover.
    let countsMore: Bool
    let findings: [Finding]
    let latency: Latency

    init(from database: ServiceRunner, over span: PushCountSpan = .hour) async throws {
        async let foundApps = AppStatus.bounded(maxRows: Int64(Self.maxApps), from: database)
        async let fleet = FleetReport(maxWorkers: WorkerRow.maxRows, maxApps: ReadDepth.maxApps, from: database)
        async let hour = PushCounts.read(app: nil, .hour, from: database)
        async let wholeDay = span == .day ? PushCounts.read(app: nil, .day, from: database) : nil
        async let maintenance = MaintenanceReport(from: database)
        async let horizon = HorizonHolder.find(from: database)
        async let webhooks = WebhookRecord.all(
            onlyInactive: true,
            maxRows: Int64(Self.maxWebhooks),
            countingTo: Followers.depth,
            from: database
        )
        async let times = Latency(from: database)
        async let appCount = ReadDepth.appCount(from: database)
        apps = try await foundApps
        workers = try await fleet.workers
        minutes = try await hour
        day = try await wholeDay
        readsAllWebhooks = try await webhooks.count < Self.maxWebhooks
        countsMore = try await appCount > ReadDepth.maxApps
        findings = OverviewFindings.all(
            apps: apps,
            fleet: try await fleet,
            maintenance: try await maintenance,
            horizon: try await horizon,
            webhooks: try await webhooks
        )
        latency = try await times
    }

    var title: String { "Overview" }
    var section: PageSection { .overview }
    var refreshInterval: Int? { 5 }

    private var span: PushCountSpan { day == nil ? .hour : .day }
    private var buckets: [PushCounts] { day ?? minutes }

    /// The rate of the last complete minute.
    private func rate(_ count: (PushCounts) -> Int64) -> Double {
        Double(minutes.dropLast().last.map(count) ?? 0) / PushCountSpan.hour.bucketSeconds
    }
    var sentPerSecond: Double { rate { $0.sent } }
    var failedPerSecond: Double { rate { $0.failed } }
    private var retriedPerSecond: Double { rate { $0.retried } }
    var counted: Amount.Precision { .init(isCut: countsMore) }
    private func note(_ count: (PushCounts) -> Int64) -> String {
        Quantity.short(Amount(minutes.reduce(0) { $0 + count($1) }, counted)) + " in the last hour"
    }
    private var expiredNote: String {
        let expired = minutes.reduce(0) { $0 + $1.expired }
        return expired == 0 ? "" : ", and \(Quantity.short(Amount(expired, counted))) expired"
    }
    var ready: Amount { apps.reduce(ofAll) { $0 + $1.ready } }
    private var scheduled: Amount { apps.reduce(ofAll) { $0 + $1.scheduled } }
    /// Others may have more.
    private var ofAll: Amount { Amount(0, .init(isCut: apps.count == Self.maxApps)) }
    var inFlight: Amount { apps.reduce(ofAll) { $0 + Amount($1.inFlight) } }
    private var oldestAge: Int64? { apps.compactMap(\.oldestAge).max() }
    /// How long the oldest job has waited.
    var oldestWait: String? { oldestAge.map { ofAll.prefixed(DurationText.age($0)) } }
    var workersAlive: Amount {
        Amount(Int64(workers.count { $0.state.isAlive }), .init(isCut: workers.count == WorkerRow.maxRows))
    }
    private var notAlive: String {
        let others = [WorkerRecord.State.silent, .stuck].compactMap { state in
            let count = workers.count { $0.state == state }
            return count > 0 ? "\(count) \(state.rawValue)" : nil
        }
        if workers.isEmpty { return "none is running" }
        return others.isEmpty ? "none is silent or stuck" : Counted.list(others)
    }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        findingList
        Tiles(
            .init(
                "Sent a second",
                counted.prefixed(Quantity.rate(sentPerSecond)),
                note: note { $0.sent },
                mark: .good
            ),
            .init(
                "Failed a second",
                counted.prefixed(Quantity.rate(failedPerSecond)),
                note: note { $0.failed } + expiredNote,
                mark: failedPerSecond > 0 ? .bad : .quiet
            ),
            .init(
                "Retried a second",
                counted.prefixed(Quantity.rate(retriedPerSecond)),
                note: note { $0.retried },
                mark: retriedPerSecond > 0 ? .attention : .quiet
            ),
            .init(
                "Ready",
                Quantity.short(ready),
                note: oldestWait.map { "oldest waits \($0)" } ?? "nothing waits",
                mark: (oldestAge ?? 0) >= AppStatus.lateAfter ? .attention : .quiet
            ),
            .init("Scheduled", Quantity.short(scheduled), note: "later, and retries"),
            .init("In flight", Quantity.short(inFlight), note: "jobs claimed, not settled"),
            .init("Workers", workersAlive.text, note: notAlive, mark: workersAlive.value > 0 ? .quiet : .attention)
        ).html
        latencyTiles
        span.tabs { Link(query: ["over": $0]) }
        PushCountChart(buckets: buckets, span: span).html
        if apps.count == Self.maxApps {
            HTML(.p, .class("note")) {
                "The findings about apps, and the numbers of ready, scheduled and in-flight jobs, cover only the first "
                    + "\(Self.maxApps) apps by name"
                    + (countsMore ? ", and those of pushes the first \(ReadDepth.maxApps)." : ".")
            }
        }
        if !apps.isEmpty {
            HTML(.section) {
                AppTable(caption: apps.count > Self.shown ? "Apps that send most" : "Apps", apps: busiest).html
                if apps.count > Self.shown { HTML(.p) { HTML(.a, .href(Link("apps"))) { "All apps" } } }
            }
        }
    }

    /// In order of name if all apps are shown.
    private var busiest: [AppStatus] {
        guard apps.count > Self.shown else { return apps }
        return Array(
            apps.sorted { ($0.sentLastHour, $0.ready.value) > ($1.sentLastHour, $1.ready.value) }.prefix(Self.shown)
        )
    }

    private var latencyTiles: HTML {
        let (waits, answers) = (latency.waits.tile, latency.answers.tile)
        return Tiles(
            .init("Half of the jobs are claimed in", waits.value, note: waits.note),
            .init("Half of the requests are answered in", answers.value, note: answers.note)
        ).html
    }

    private var findingList: HTML {
        guard !findings.isEmpty else { return HTML(.p, .class("allwell")) { StateMark.good.html("Nothing is wrong") } }
        return HTML(.section, .class("findings")) {
            HTML(.h2) { "What is wrong right now" }
            HTML(.ul) {
                for finding in findings.prefix(20) {
                    HTML(.li, .class(finding.severity.rawValue)) {
                        HTML(.a, .href(finding.link)) { finding.sentence }
                        HTML(.span, .class("note")) { finding.remedy }
                    }
                }
            }
            if findings.count > 20 { HTML(.p, .class("note")) { "And \(findings.count - 20) more." } }
        }
    }

    var json: JSONValue {
        [
            "findings": findings.map(\.json).json,
            "findings_precision": Amount.Precision(isCut: apps.count == Self.maxApps || !readsAllWebhooks),
            "sent_per_second": sentPerSecond, "sent_per_second_precision": counted,
            "failed_per_second": failedPerSecond, "failed_per_second_precision": counted,
            "retried_per_second": retriedPerSecond, "retried_per_second_precision": counted,
            "ready": ready.value, "ready_precision": ready.precision,
            "scheduled": scheduled.value, "scheduled_precision": scheduled.precision,
            "in_flight": inFlight.value, "in_flight_precision": inFlight.precision,
            "oldest_age_seconds": oldestAge, "oldest_age_seconds_precision": ofAll.precision,
            "workers_alive": workersAlive.value, "workers_alive_precision": workersAlive.precision,
            "latency": latency, "over": span.rawValue, "counts": buckets, "counts_precision": counted,
            "apps": busiest, "apps_precision": Amount.Precision(isCut: apps.count > Self.shown),
        ]
    }
}
