import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// What follows the events of one app or of all apps: webhooks, and consumers.
struct Followers {
    /// Of each of the two lists.
    static let maxRows: Int64 = 20
    /// In how many rows the events of each are counted.
    static let depth: Int64 = 400
    /// How much a table shows of why a webhook does not work. Its page has the rest.
    private static let causeLength = 60

    let webhooks: [WebhookRecord]
    let consumers: [ConsumerRow]

    /// - Parameter app: nil for all apps.
    static func read(of app: String? = nil, from database: ServiceRunner) async throws -> Followers {
        async let webhooks = WebhookRecord.all(of: app, maxRows: maxRows, countingTo: depth, from: database)
        async let consumers: [ConsumerRow] = database.values(
            of: ConsumerRow.statement,
            Parameters(app, maxRows, depth)
        )
        return Followers(webhooks: try await webhooks, consumers: try await consumers)
    }

    var isEmpty: Bool { webhooks.isEmpty && consumers.isEmpty }

    @HTMLBuilder func tables(withApp: Bool) -> HTML {
        if !webhooks.isEmpty {
            DataTable(caption(webhooks.count, "webhook"), webhooks, webhookColumns(withApp: withApp)).html
        }
        if !consumers.isEmpty {
            DataTable(caption(consumers.count, "consumer"), consumers, consumerColumns(withApp: withApp)).html
        }
    }

    private func caption(_ count: Int, _ name: String) -> String {
        count == Self.maxRows ? "The first \(count) \(name)s" : Counted.text(Int64(count), name)
    }

    private func webhookColumns(withApp: Bool) -> [DataTable<WebhookRecord>.Column] {
        [.text("Webhook") { row in HTML(.a, .href(.webhook(row.name))) { row.name } }]
            + (withApp ? [.text("App") { .app($0.app) }] : [])
            + [
                .text("State") { $0.state.mark.html($0.state.rawValue) },
                .number("Waiting") { Quantity.short($0.waiting) },
                .number("Oldest") { Self.age($0.lagSeconds) },
                .text("Last accepted") { $0.acceptedAt?.html ?? HTML("never") },
                .text("Since") { $0.since?.html ?? HTML("–") },
                .text("Why") { row in
                    guard let cause = row.cause else { return HTML("–") }
                    return HTML(
                        cause.count > Self.causeLength ? String(cause.prefix(Self.causeLength)) + "…" : cause
                    )
                },
            ]
    }

    private func consumerColumns(withApp: Bool) -> [DataTable<ConsumerRow>.Column] {
        [.text("Consumer") { HTML($0.consumer) }] + (withApp ? [.text("App") { .app($0.app) }] : [])
            + [
                .text("Kinds") { HTML($0.kinds?.joined(separator: ", ") ?? "all") },
                .number("Waiting") { Quantity.short(Amount($0.events, $0.eventsPrecision)) },
                .number("Oldest") { Self.age($0.lagSeconds) },
                .text("Subscribed") { $0.createdAt.html },
            ]
    }

    private static func age(_ seconds: Double?) -> String { seconds.map(WebhookRecord.age) ?? "–" }

    var webhooksPrecision: Amount.Precision { .init(isCut: webhooks.count == Self.maxRows) }
    var consumersPrecision: Amount.Precision { .init(isCut: consumers.count == Self.maxRows) }
}
