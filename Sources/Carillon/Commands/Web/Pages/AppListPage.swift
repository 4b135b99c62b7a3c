import CarillonPostgres
import CarillonWeb

struct AppListQuery {
    let database: WebDatabase

    func run() async throws -> AppListView {
        AppListView(apps: try await AppStatus.bounded(from: database))
    }
}

struct AppListView: PageView {
    let apps: [AppStatus]

    var title: String { "Apps" }
    var section: PageSection { .apps }
    var refreshInterval: Int? { 5 }

    var content: HTML {
        apps.isEmpty
            ? HTML(.p) { "There are no apps yet: add one with 'carillon app add'." }
            : AppTable(caption: Counted.text(Int64(apps.count), "app"), apps: apps).html
    }

    var json: JSONValue { ["apps": apps] }
}
