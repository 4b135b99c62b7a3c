import CarillonPostgres
import CarillonSchema
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
            Page(path: "/") { request, _ in try await OverviewView(from: database, over: PushCountSpan(request)) },
            Page(path: "/apps") { request, _ in try await AppListView(from: database, request) },
            Page(path: "/apps/{name}") { request, _ in try await AppView(from: database, request) },
            Page(path: "/webhooks/{name}") { request, _ in try await WebhookView(from: database, request) },
            Page(path: "/webhooks/{name}/redeliver") { try await RedeliveryView(from: changing, $0, $1) },
            Page(path: "/trace") { try await TraceQuery(database: database, tokens: $1.tokens, $0).run() },
            Page(path: "/messages/{id}") { request, viewer in
                try await message(request) { try await MessageView($0, from: database, viewer.tokens) }
            },
            Page(path: "/messages/{id}/cancel") { request, _ in
                try await message(request) { CancelView(message: $0) }
            },
            Page(path: "/failures") { try await FailuresView(from: database, $1.tokens, $0) },
            Page(path: "/failures/requeue") { try await FailureActionView(.requeue, from: changing, $0, $1) },
            Page(path: "/failures/dismiss") { try await FailureActionView(.dismiss, from: changing, $0, $1) },
            Page(path: "/broadcasts") { _, _ in try await BroadcastsView(from: database) },
            Page(path: "/scheduled") { request, _ in try await ScheduledView(from: database, request) },
            Page(path: "/tokens") { _, _ in try await TokensView(from: database) },
            Page(path: "/channels") { _, _ in try await ChannelsView(from: database) },
            Page(path: "/activities") { try await ActivitiesView(from: database, $1.tokens) },
            Page(path: "/workers") { _, _ in try await WorkersView(from: database) },
            Page(path: "/credentials") { _, _ in try await CredentialsView(from: database) },
            Page(path: "/test") { request, _ in try await TestPushView(TestPush(request), from: database) },
            Page(path: "/changes") { request, _ in try await ChangesView(from: database, request) },
        ]
    }

    /// The page of one message, or one to choose an app if several have a message of its id.
    private func message(
        _ request: Request,
        _ view: (MessageStatus) async throws -> any PageView
    ) async throws -> any PageView {
        let query = try MessageQuery(database: database, request, app: request.parameter("app"))
        let found = try await query.messages()
        return found.count > 1 ? MessageChoiceView(id: query.id, apps: found.map(\.app)) : try await view(found[0])
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
