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
        async let followers = after == nil ? Followers.read(from: database) : nil
        return AppListView(
            apps: try await AppStatus.bounded(after: after, maxRows: Int64(Self.pageLength), from: database),
            followers: try await followers
        )
    }
}
