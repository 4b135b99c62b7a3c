import CarillonPostgres
import CarillonText
import CarillonWeb

/// The pages of one database, and what they change.
struct Dashboard: Sendable {
    private typealias Page = PageSite.Page

    let mount: DatabaseMount
    /// For statements that only read.
    let database: ServiceRunner
    /// For statements that change something, or preview a change.
    private let changing: ServiceRunner
    private let api: APIEndpoint
    let configuration: DashboardConfiguration

    init(_ mount: DatabaseMount, _ source: DatabaseSource, _ configuration: DashboardConfiguration) {
        self.mount = mount
        let observer = configuration.observer
        let service = ServiceDatabase(
            source,
            application: "carillon web",
            groups: [.reading, .apiReading, .changing],
            loop: configuration.loop,
            observer: { observer(.database($0)) }
        )
        database = ServiceRunner(service, .reading)
        changing = ServiceRunner(service, .changing, on: [0, 1])
        api = APIEndpoint(
            reading: ServiceRunner(service, .apiReading),
            changing: ServiceRunner(service, .changing, on: [2, 1]),
            configuration
        )
        self.configuration = configuration
    }

    var site: PageSite { PageSite(mount: mount, configuration: configuration, pages: pages) }

    var routes: [Route] {
        let site = self.site
        return site.routes + actions(of: site) + programs(of: site)
    }

    /// The routes for programs.
    private func programs(of site: PageSite) -> [Route] {
        let document = OpenAPIDocument(version: configuration.version, base: mount == .only ? "" : mount.path("/"))
        return (APIRoute.all + [.unversioned]).map { route in
            site.route(route.method, route.fullPath) { await api.answer($0, to: route) }
        } + [site.route(.get, "/openapi.json") { _ in Response(json: document.json.text + "\n") }]
    }

    private var pages: [Page] {
        [
            Page(path: "/") { request, _ in
                try await OverviewQuery(database: database, span: PushCountSpan(request)).run()
            },
            Page(path: "/apps") { request, _ in try await AppListQuery(database: database, request).run() },
            Page(path: "/apps/{name}") { request, _ in try await AppQuery(database: database, request).run() },
            Page(path: "/webhooks/{name}") { request, _ in
                try await WebhookQuery(database: database, request).run()
            },
            Page(path: "/webhooks/{name}/redeliver") {
                try await RedeliveryQuery(database: changing, request: $0, viewer: $1).run()
            },
            Page(path: "/trace") { try await TraceQuery(database: database, tokens: $1.tokens, $0).run() },
            Page(path: "/messages/{id}") { try await MessageQuery(database: database, tokens: $1.tokens, $0).run() },
            Page(path: "/messages/{id}/cancel") { request, _ in
                try await MessageQuery(database: database, tokens: TokenDisplay(isWhole: false), request).cancelling()
            },
            Page(path: "/failures") { try await FailuresQuery(database: database, tokens: $1.tokens, $0).run() },
            Page(path: "/failures/requeue") {
                try await FailureActionQuery(operation: .requeue, database: changing, request: $0, viewer: $1).run()
            },
            Page(path: "/failures/dismiss") {
                try await FailureActionQuery(operation: .dismiss, database: changing, request: $0, viewer: $1).run()
            },
            Page(path: "/broadcasts") { _, _ in try await BroadcastsQuery(database: database).run() },
            Page(path: "/scheduled") { request, _ in try await ScheduledQuery(database: database, request).run() },
            Page(path: "/tokens") { _, _ in try await TokensQuery(database: database).run() },
            Page(path: "/channels") { _, _ in try await ChannelsQuery(database: database).run() },
            Page(path: "/activities") { try await ActivitiesQuery(database: database, tokens: $1.tokens).run() },
            Page(path: "/workers") { _, _ in try await WorkersQuery(database: database).run() },
            Page(path: "/credentials") { _, _ in try await CredentialsQuery(database: database).run() },
            Page(path: "/test") { request, _ in try await TestPushQuery(database: database).run(request) },
            Page(path: "/changes") { request, _ in try await ChangesQuery(database: database, request).run() },
        ]
    }

    private func actions(of site: PageSite) -> [Route] {
        [
            site.action("/apps/{name}/pause") { try await AppAction(database: changing).pause($0, $1, $2) },
            site.action("/apps/{name}/resume") { request, _, viewer in
                try await AppAction(database: changing).resume(request, viewer)
            },
            site.action("/apps/{name}/limits") { try await AppAction(database: changing).limit($0, $1, $2) },
            site.action("/webhooks/{name}/pause") { try await WebhookAction(database: changing, $0).pause($1, $2) },
            site.action("/webhooks/{name}/resume") { request, _, viewer in
                try await WebhookAction(database: changing, request).resume(viewer)
            },
            site.action("/webhooks/{name}/redeliver") {
                try await WebhookAction(database: changing, $0).redeliver($1, $2)
            },
            site.action("/messages/{id}/cancel") {
                try await CancelAction(database: database, changing: changing).run($0, $1, $2)
            },
            site.action("/failures/requeue") { _, form, viewer in
                try await FailureAction(operation: .requeue, database: changing).run(form, viewer)
            },
            site.action("/failures/dismiss") { _, form, viewer in
                try await FailureAction(operation: .dismiss, database: changing).run(form, viewer)
            },
            site.action("/test") { _, form, viewer in
                try await TestPushAction(database: database, changing: changing).run(form, viewer)
            },
        ]
    }
}

extension ServiceDatabase.Group {
    /// A statement may wait for earlier ones as long as it may run. A browser gives up on a page after ten seconds.
    fileprivate static let reading = Self(
        name: "reading",
        connections: 2,
        server: .any,
        statementTimeout: .seconds(5),
        settings: SessionSettings.unhurried.with(["lock_timeout": "1s", "default_transaction_read_only": "on"]),
        isReading: true,
        longestWait: .seconds(5)
    )
    /// People and programs share one of them, and have one each to themselves. call_with_token() names the API as the source.
    fileprivate static let changing = Self(
        name: "changing",
        connections: 3,
        statementTimeout: .seconds(20),
        settings: SessionSettings.unhurried.with(["lock_timeout": "3s", "carillon.source": "dashboard"]),
        longestWait: .seconds(10)
    )
    /// Programs and people do not wait for each other. A primary notes when a token was last used.
    fileprivate static let apiReading = Self(
        name: "API reading",
        connections: 2,
        server: .any,
        statementTimeout: .seconds(5),
        settings: SessionSettings.unhurried.with(["lock_timeout": "1s"]),
        isReading: true,
        longestWait: .seconds(5)
    )
}
