import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct AppListQuery {
    static let pageLength = 50

    let database: WebDatabase
    let after: String?

    init(database: WebDatabase, _ request: Request) {
        self.database = database
        after = request.parameter("after")
    }

    func run() async throws -> AppListView {
        AppListView(
            isFirst: after == nil,
            apps: try await AppStatus.bounded(after: after, maxCount: Int64(Self.pageLength), from: database)
        )
    }
}
