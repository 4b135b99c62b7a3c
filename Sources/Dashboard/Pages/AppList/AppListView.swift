import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct AppListView: PageView {
    private static let pageLength = 50

    let apps: [AppStatus]
    /// Of all apps; nil after the first page.
    let followers: Followers?

    init(from database: ServiceRunner, _ request: Request) async throws {
        let after = request.parameter("after")
        // One after the other: with a query that waits for a connection, the page would fail when the first host is left.
        apps = try await AppStatus.bounded(after: after, maxRows: Int64(Self.pageLength), from: database)
        followers = after == nil ? try await Followers.read(from: database) : nil
    }

    private var isFirst: Bool { followers != nil }

    private var more: Link? {
        guard apps.count == Self.pageLength, let last = apps.last else { return nil }
        return Link("apps", query: ["after": last.name])
    }

    var title: String { "Apps" }
    var section: PageSection { .apps }
    var refreshInterval: Int? { 5 }

    @HTMLBuilder func content(for viewer: Viewer) -> HTML {
        if !apps.isEmpty {
            let isWhole = isFirst && more == nil
            AppTable(caption: isWhole ? Counted.text(Int64(apps.count), "app") : "Apps by name", apps: apps).html
        } else if isFirst {
            HTML(.p) { "There are no apps yet: add one with 'carillon app add'." }
        } else {
            HTML(.p) { "There are no more apps." }
        }
        HTML.pager(("The first", isFirst ? nil : Link("apps")), ("More", more))
        if let followers { followers.tables(withApp: true) }
    }

    var json: JSONValue {
        [
            "apps": apps, "more": more?.text, "webhooks": followers?.webhooks,
            "webhooks_precision": followers?.webhooksPrecision, "consumers": followers?.consumers,
            "consumers_precision": followers?.consumersPrecision,
        ]
    }
}
