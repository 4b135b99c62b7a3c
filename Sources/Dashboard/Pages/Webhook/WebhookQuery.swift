import CarillonPostgres
import CarillonSchema
import CarillonWeb

struct WebhookQuery {
    /// In how many rows its events are counted.
    private static let depth: Int64 = 5_000

    let database: ServiceRunner
    let name: String

    init(database: ServiceRunner, _ request: Request) {
        self.database = database
        name = request.pathParameters["name"] ?? ""
    }

    func run() async throws -> WebhookView {
        guard let webhook = try await WebhookRecord.all(named: name, countingTo: Self.depth, from: database).first
        else {
            throw RequestError.notFound("There is no webhook \(name).", hint: "It may have been removed.")
        }
        return WebhookView(webhook: webhook)
    }
}
