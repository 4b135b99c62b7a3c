import CarillonPostgres
import CarillonSchema
import CarillonWeb

struct AppListQuery {
    static let pageLength = 50

    let database: ServiceRunner
    let after: String?

    init(database: ServiceRunner, _ request: Request) {
        self.database = database
        after = request.parameter("after")
    }

    func run() async throws -> AppListView {
        // One after the other: with a query that waits for a connection, the page would fail when the first host is left.
        let apps = try await AppStatus.bounded(after: after, maxRows: Int64(Self.pageLength), from: database)
        return AppListView(apps: apps, followers: after == nil ? try await Followers.read(from: database) : nil)
    }
}
