import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// The workers of the fleet, and maintenance.
struct WorkersView: PageView {
    let workers: [WorkerRow]
    let maintenance: MaintenanceReport
    let horizon: HorizonHolder?

    init(from database: ServiceRunner) async throws {
        async let rows: [WorkerRow] = database.values(of: WorkerRow.statement)
        async let report = MaintenanceReport(from: database)
        async let holder = HorizonHolder.find(from: database)
        workers = try await rows
        maintenance = try await report
        horizon = try await holder
    }

    var title: String { "Workers" }
    var section: PageSection { .workers }
    var refreshInterval: Int? { 5 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if workers.isEmpty {
            HTML(.p, .class("notice")) { "No worker is running. Start one with 'carillon worker'." }
        } else {
            DataTable(
                (precision == .exact ? "" : "The first ") + Counted.text(Int64(workers.count), "worker"),
                workers,
                .text("Worker") { HTML($0.worker.name) },
                .text("State") { $0.worker.state.mark.html($0.worker.stateText) },
                .number("Id") { String($0.worker.id) },
                .text("Host") { HTML($0.worker.host ?? "–") },
                .text("Version") { HTML($0.worker.version ?? "–") },
                .text("Since") { $0.startedAt.html },
                .number("Up") { DurationText.age($0.worker.upFor) },
                .number("Last heartbeat") { DurationText.age($0.worker.silentFor) + " ago" },
                .number("Lease") { DurationText.age($0.worker.lease) },
                .number("Claims") { Int($0.worker.claims).grouped },
                .number("Connections") { $0.connections.map { Int($0).grouped } ?? "–" },
                .number("Sent, two minutes") { Quantity.short($0.sentLastMinute) }
            ).html
        }
        HTML(.h2) { "Maintenance" }
        HTML(.ul, .class("plain")) {
            if findings.isEmpty {
                HTML(.li) { StateMark.good.html("Maintenance is in order") }
            }
            for finding in findings {
                HTML(.li) {
                    StateMark.attention.html(finding.sentence)
                    " "
                    HTML(.span, .class("note")) { finding.remedy }
                }
            }
            if let horizon, !horizon.isLong, let age = horizon.seconds {
                HTML(.li) {
                    StateMark.quiet
                        .html("The oldest transaction that this login sees has been open for \(DurationText.age(age))")
                }
            }
        }
    }

    /// What is wrong with maintenance.
    private var findings: [Finding] {
        maintenance.findings + [horizon?.finding].compactMap(\.self)
    }

    private var precision: Amount.Precision { .init(isCut: workers.count == WorkerRow.maxRows) }

    var json: JSONValue {
        [
            "workers": workers, "workers_precision": precision,
            "maintenance_findings": findings.map(\.json).json,
            "maintenance_failing": maintenance.failing.map {
                ["step": $0.step, "error": $0.lastError] as JSONValue
            },
            "default_partition_rows": maintenance.filledPartitions.map {
                ["table": $0.table, "rows": $0.rows, "rows_precision": $0.rowsPrecision] as JSONValue
            },
            "oldest_transaction_seconds": horizon?.seconds,
        ]
    }
}
