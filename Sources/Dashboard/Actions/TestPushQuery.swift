import ApplePush
import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

struct TestPushQuery {
    private static let names = Statement(
        "web_app_names",
        "SELECT a.name FROM carillon.apps a ORDER BY a.name LIMIT \(ReadDepth.apps)"
    )

    let database: WebDatabase

    func run(_ request: Request) async throws -> TestPushView {
        TestPushView(push: TestPush(request), apps: try await apps())
    }

    func apps() async throws -> [String] {
        try await database.query(Self.names) { rows in
            try rows.indices.map { try rows.string($0, "name") }
        }
    }
}
