import CarillonPostgres
import CarillonPushQueue
import CarillonSchema
import CarillonText

extension Command {
    static let metricsShow = Command(
        "metrics show",
        roles: ["carillon_app", "carillon_reader", "carillon_worker"],
        summary: "Show what Apple has counted of accepted pushes, by day, push type and status.",
        discussion: """
            Shows what 'metrics fetch' and 'metrics import' have stored, from the view delivery_metrics. Apple rounds its counts,
            and hides small ones. With --json, prints an array of objects with the columns of the view as members.
            """,
        options: [.app.help("Only this app."), .exportedSince.help("The days of the last D."), .json, .database],
        examples: ["carillon metrics show --app acme --since 7d"],
        run: { invocation in
            let settings = invocation.settings
            let app = settings.text(.app)
            let metrics = try await DatabaseScope.with(invocation, to: .any) { connection, _ in
                if let app { try await AppStore(connection).require(app) }
                return try await DeliveryMetric.all(of: app, since: settings.duration(.exportedSince), from: connection)
            }
            invocation.show(metrics.json) { console in
                let table = TextTable(
                    metrics,
                    .left("DAY") { $0.day },
                    .left("APP") { $0.app },
                    .left("PUSH TYPE") { $0.pushType },
                    .left("STATUS") { $0.status },
                    .right("COUNT") { $0.count.map { Int($0).grouped } ?? "hidden" }
                )
                if metrics.isEmpty {
                    console.print("There are no metrics of these days.")
                } else {
                    console.print(table)
                }
            }
            return .done
        }
    )
}
