import CarillonSchema
import CarillonText
import CarillonWeb

/// Finds problems in what the dashboard has read.
enum ProblemRules {
    /// A queue is late if its oldest job is older than this, in seconds.
    static let lateAfter: Int64 = 300
    /// An app whose pushes all fail is a problem from this number on: one or two may be dead tokens.
    private static let fewFailures: Int64 = 3
    static let longTransaction: Int64 = 600

    static func problems(apps: [AppStatus], workers: [WorkerRecord], maintenance: MaintenanceFindings) -> [Problem] {
        let all = fleet(apps, workers) + apps.flatMap(app) + credentials(apps) + ofMaintenance(maintenance)
        return all.filter { $0.severity == .critical } + all.filter { $0.severity == .warning }
    }

    private static func fleet(_ apps: [AppStatus], _ workers: [WorkerRecord]) -> [Problem] {
        var problems: [Problem] = []
        let link = PageSection.workers.link
        if apps.isEmpty {
            problems.append(
                Problem(
                    severity: .warning,
                    sentence: "There is no app yet.",
                    remedy:
                        "Import a credential with 'carillon credential import', and add an app with 'carillon app add'.",
                    link: PageSection.apps.link
                )
            )
        }
        if !workers.contains(where: { $0.state != .silent }) {
            let waiting = apps.contains { $0.ready.value > 0 }
            problems.append(
                Problem(
                    severity: waiting ? .critical : .warning,
                    sentence: "No worker is running" + (waiting ? ", and jobs wait." : "."),
                    remedy: "Start 'carillon worker', on as many machines as you like.",
                    link: link
                )
            )
        }
        for worker in workers where worker.state == .stuck {
            problems.append(
                Problem(
                    severity: .critical,
                    sentence: "Worker \(worker.name) is stuck: it has settled none of its claims for a while.",
                    remedy: "Its log may say why. If you end it, other workers take over its claims.",
                    link: link
                )
            )
        }
        for worker in workers where worker.state == .silent {
            problems.append(
                Problem(
                    severity: .warning,
                    sentence: "Worker \(worker.name) has sent no heartbeat for \(Quantity.age(worker.silentFor)).",
                    remedy: worker.claims == 0
                        ? "It has no claims. Another worker removes it from this list."
                        : "Another worker takes over its claims once the lease has ended.",
                    link: link
                )
            )
        }
        return problems
    }

    private static func app(_ app: AppStatus) -> [Problem] {
        let link = Link.app(app.name)
        if app.isPaused {
            return [
                Problem(
                    severity: app.pauseReason == nil ? .warning : .critical,
                    sentence: "\(app.name) is paused" + (app.pauseReason.map { ": " + $0.asSentence } ?? "."),
                    remedy: "To resume it: carillon app resume \(app.name.shellQuoted)",
                    link: link
                )
            ]
        }
        if let reason = app.holdReason {
            return [
                Problem(
                    severity: .critical,
                    sentence: "\(app.name) cannot send: \(reason.asSentence)",
                    remedy: holdRemedy(app),
                    link: link
                )
            ]
        }
        return failing(app) + late(app)
    }

    /// With few pushes no breaker opens, so the dashboard must report it.
    private static func failing(_ app: AppStatus) -> [Problem] {
        guard app.sentLastHour == 0, app.failedLastHour >= fewFailures else { return [] }
        return [
            Problem(
                severity: .critical,
                sentence:
                    "No push of \(app.name) was sent in the last hour: \(Quantity.short(app.failedLastHour)) failed"
                    + (app.failureReason.map { ", mostly as \($0)." } ?? "."),
                remedy: app.failureReason.map { ReasonText.meaning(of: $0) } ?? "See its failures.",
                link: Link("failures", query: ["app": app.name])
            )
        ]
    }

    private static func late(_ app: AppStatus) -> [Problem] {
        guard let age = app.oldestAge, age >= lateAfter else { return [] }
        return [
            Problem(
                severity: .warning,
                sentence: "The oldest ready job of \(app.name) has waited for \(Quantity.age(age)).",
                remedy: "Start more workers, or raise --connections or the app's max_rate.",
                link: Link.app(app.name)
            )
        ]
    }

    /// What to do about an app that cannot send.
    static func holdRemedy(_ app: AppStatus) -> String {
        app.credentialStatus == .missing
            ? "Its pushes wait. Choose a credential: carillon app set \(app.name.shellQuoted) --credential NAME"
            : "Its pushes wait. Workers keep trying; 'carillon check' looks for the cause."
    }

    private static func credentials(_ apps: [AppStatus]) -> [Problem] {
        var seen: Set<String> = []
        return apps.compactMap { app in
            let name = app.credential ?? ""
            guard let status = app.credentialStatus, status != .ok, name.isEmpty || seen.insert(name).inserted else {
                return nil
            }
            let remedy =
                "Import a new one under the same name: carillon credential import \(name.shellQuoted) --file FILE"
            let link = PageSection.credentials.link
            switch status {
            // The hold of the app already reports it.
            case .missing where app.holdReason != nil: return nil
            case .missing:
                return Problem(
                    severity: .critical,
                    sentence: "\(app.name) has no credential.",
                    remedy: "Choose one: carillon app set \(app.name.shellQuoted) --credential NAME",
                    link: Link.app(app.name)
                )
            case .expiring:
                let days = (app.credentialExpiresIn ?? 0) / 86_400
                let text = Counted.text(days, "day")
                return Problem(
                    severity: days < 7 ? .critical : .warning,
                    sentence: "Credential \(name) expires in \(text).",
                    remedy: remedy,
                    link: link
                )
            default:
                let error = app.credentialError.map { " " + $0.asSentence } ?? ""
                return Problem(
                    severity: .critical,
                    sentence: "Credential \(name) is \(status.rawValue).\(error)",
                    remedy: remedy,
                    link: link
                )
            }
        }
    }

    private static func ofMaintenance(_ maintenance: MaintenanceFindings) -> [Problem] {
        let link = PageSection.workers.link
        var problems = maintenance.report.failing.map { failing in
            Problem(
                severity: .warning,
                sentence: "The maintenance step '\(failing.step)' fails"
                    + (failing.lastError.map { ": " + $0.asSentence } ?? "."),
                remedy: "'carillon check' says more.",
                link: link
            )
        }
        problems += maintenance.report.filledPartitions.map { partition in
            Problem(
                severity: .warning,
                sentence: "The default partition of \(partition.table) has \(Counted.text(partition.rows, "row")).",
                remedy: "Maintenance is late: run a worker, or CALL carillon.maintain().",
                link: link
            )
        }
        if let age = maintenance.oldestTransaction, age >= longTransaction {
            problems.append(
                Problem(
                    severity: .warning,
                    sentence: "A transaction has been open for \(Quantity.age(age)) and keeps vacuum from removing "
                        + "dead rows of the queue.",
                    remedy: "Find it in pg_stat_activity by xact_start, and end it.",
                    link: link
                )
            )
        }
        return problems
    }
}
