import CarillonPostgres
import CarillonWeb

struct TestPushQuery {
    private static let names = Statement(
        "web_app_names",
        "SELECT a.name FROM carillon.apps a ORDER BY a.name LIMIT \(ReadDepth.maxApps)"
    )

    let database: ServiceRunner

    func run(_ request: Request) async throws -> TestPushView {
        TestPushView(push: TestPush(request), apps: try await apps())
    }

    func apps() async throws -> [String] { try await database.values(of: Self.names) }
}
