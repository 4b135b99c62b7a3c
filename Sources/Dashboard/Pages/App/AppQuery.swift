import CarillonPostgres
import CarillonSchema
import CarillonWeb

struct AppQuery {
    private static let settings = Statement(
        "web_app_settings",
        """
        SELECT a.topics, a.gateway, a.feedback_gateway, a.feedback_error, a.max_rate, a.max_per_device, a.max_attempts,
            a.reap_bad_tokens, extract(epoch FROM a.keep_sent)::int8 AS keep_sent,
            a.quiet_hours || ' ' || a.time_zone AS quiet_hours, a.created_at, a.updated_at
        FROM carillon.apps a WHERE a.name = $1
        """
    )

    static let maxChanges = 10

    let database: ServiceRunner
    let name: String
    let span: PushCountSpan

    init(database: ServiceRunner, _ request: Request) throws {
        self.database = database
        name = request.pathParameters["name"] ?? ""
        span = try PushCountSpan(request)
    }

    func run() async throws -> AppView {
        let name = name
        async let found = AppStatus.bounded(name, maxRows: 1, from: database)
        async let settings: [AppView.Settings] = database.values(of: Self.settings, Parameters(name))
        async let buckets = PushCounts.read(app: name, span, from: database)
        async let failures = FailureGroup.read(
            app: name,
            reason: nil,
            within: span == .hour ? .hour : .day,
            depth: ReadDepth.read(for: name, from: database),
            from: database
        )
        async let deliveries = DeliveryFunnel.read(app: name, from: database)
        async let changes = ChangesQuery.changes(from: database, app: name, maxRows: Int64(Self.maxChanges))
        async let followers = Followers.read(of: name, from: database)
        guard let app = try await found.first, let settings = try await settings.first else {
            throw RequestError.notFound("There is no app \(name).", hint: "It may have been renamed or removed.")
        }
        return AppView(
            app: app,
            settings: settings,
            span: span,
            buckets: try await buckets,
            failures: try await failures,
            followers: try await followers,
            deliveries: try await deliveries,
            changes: try await changes
        )
    }
}
