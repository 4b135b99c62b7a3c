import CarillonPostgres
import CarillonSchema
import CarillonText
import CarillonWeb

/// The routes of the pages of one database: they check access, read or change something, and respond with HTML or JSON.
struct Dashboard: Sendable {
    private typealias Reading = @Sendable (Request, Viewer) async throws -> any PageView
    private struct Page: Sendable {
        let path: String
        let read: Reading

        init(_ path: String, _ read: @escaping Reading) {
            self.path = path
            self.read = read
        }
    }

    private typealias Changing = @Sendable (Request, Form, Viewer) async throws -> ActionResult

    let mount: DatabaseMount
    /// For statements that only read.
    let database: ServiceRunner
    /// For statements that change something, or preview a change.
    private let changing: ServiceRunner
    let configuration: DashboardConfiguration

    init(_ mount: DatabaseMount, _ source: DatabaseSource, _ configuration: DashboardConfiguration) {
        self.mount = mount
        let observer = configuration.observer
        let service = ServiceDatabase(
            source,
            application: "carillon web",
            groups: [.reading, .changing],
            loop: configuration.loop,
            observer: { observer(.database($0)) }
        )
        database = ServiceRunner(service, .reading)
        changing = ServiceRunner(service, .changing)
        self.configuration = configuration
    }

    private var access: WebAccess { configuration.access }

    var routes: [Route] {
        pages.map(route) + actions + [
            route(.post, "/messages") {
                await MessagePost(database: changing, observer: configuration.observer).answer($0)
            }
        ]
    }

    private var pages: [Page] {
        [
            Page("/") { request, _ in
                try await OverviewQuery(database: database, span: PushCountSpan(request)).run()
            },
            Page("/apps") { request, _ in try await AppListQuery(database: database, request).run() },
            Page("/apps/{name}") { request, _ in try await AppQuery(database: database, request).run() },
            Page("/find") { try await FindQuery(database: database, tokens: $1.tokens, $0).run() },
            Page("/messages/{id}") { try await MessageQuery(database: database, tokens: $1.tokens, $0).run() },
            Page("/messages/{id}/cancel") { request, _ in
                let tokens = TokenDisplay(isWhole: false)
                return try await MessageQuery(database: database, tokens: tokens, request).cancelling()
            },
            Page("/failures") { try await FailuresQuery(database: database, tokens: $1.tokens, $0).run() },
            Page("/failures/requeue") {
                try await FailureActionQuery(operation: .requeue, database: changing, request: $0, viewer: $1).run()
            },
            Page("/failures/dismiss") {
                try await FailureActionQuery(operation: .dismiss, database: changing, request: $0, viewer: $1).run()
            },
            Page("/broadcasts") { _, _ in try await BroadcastsView.read(from: database) },
            Page("/scheduled") { request, _ in try await ScheduledQuery(database: database, request).run() },
            Page("/tokens") { _, _ in try await TokensQuery(database: database).run() },
            Page("/channels") { _, _ in try await ChannelsQuery(database: database).run() },
            Page("/activities") { try await ActivitiesView.read(from: database, $1.tokens) },
            Page("/workers") { _, _ in try await WorkersView.read(from: database) },
            Page("/credentials") { _, _ in try await CredentialsView.read(from: database) },
            Page("/test") { request, _ in try await TestPushQuery(database: database).run(request) },
            Page("/changes") { request, _ in try await ChangesQuery(database: database, request).run() },
        ]
    }

    private var actions: [Route] {
        [
            action("/apps/{name}/pause") { try await AppAction(database: changing).pause($0, $1, $2) },
            action("/apps/{name}/resume") { request, _, viewer in
                try await AppAction(database: changing).resume(request, viewer)
            },
            action("/apps/{name}/limits") { try await AppAction(database: changing).limit($0, $1, $2) },
            action("/messages/{id}/cancel") {
                try await CancelAction(database: database, changing: changing).run($0, $1, $2)
            },
            action("/failures/requeue") { _, form, viewer in
                try await FailureAction(operation: .requeue, database: changing).run(form, viewer)
            },
            action("/failures/dismiss") { _, form, viewer in
                try await FailureAction(operation: .dismiss, database: changing).run(form, viewer)
            },
            action("/test") { _, form, viewer in
                try await TestPushAction(database: database, changing: changing).run(form, viewer)
            },
        ]
    }

    /// A route whose links lead to pages of this database.
    private func route(_ method: CarillonWeb.Method, _ path: String, _ handler: @escaping Route.Handler) -> Route {
        Route(method, mount.path(path)) { request in
            await Link.$base.withValue(mount.base) { await handler(request) }
        }
    }

    private func route(of page: Page) -> Route {
        route(.get, page.path) { request in
            guard let viewer = access.viewer(of: request) else { return access.challenge(request) }
            return await answer(to: request, viewer) { .page(try await page.read(request, viewer)) }
        }
    }

    /// The page at an address, for a browser that keeps it open; nil if the viewer may not read it or it does not exist.
    func readPage(_ request: Request) async -> LivePage? {
        guard let viewer = access.viewer(of: request) else { return nil }
        return await Link.$base.withValue(mount.base) {
            for page in pages {
                guard let values = PathPattern(mount.path(page.path)).match(request.path) else { continue }
                do {
                    return LivePage(try await page.read(request.with(values), viewer), viewer)
                } catch {
                    guard RequestError(error) == nil else { return nil }
                    let explanation = Explanation(error)
                    configuration.observer(.pageFailed(request, explanation))
                    return LivePage(ErrorView(error: RequestError(explaining: explanation)), viewer)
                }
            }
            return nil
        }
    }

    /// The route of a form that changes something. Another site cannot send the form, because it does not know the viewer's form
    /// token.
    private func action(_ path: String, _ change: @escaping Changing) -> Route {
        route(.post, path) { request in
            guard let viewer = access.viewer(of: request) else { return access.challenge(request) }
            return await answer(to: request, viewer) {
                guard viewer.mayChange else { throw RequestError.mayNotChange(viewer) }
                let form = try Form(request)
                guard access.isForm(form.whole(Viewer.formField), of: viewer) else { throw RequestError.foreignForm }
                return try await change(request, form, viewer)
            }
        }
    }

    private func answer(
        to request: Request,
        _ viewer: Viewer,
        _ work: () async throws -> ActionResult
    ) async -> Response {
        do {
            switch try await work() {
            case .page(let view): return answer(view, to: request, viewer)
            case .refused(let view, let error): return answer(error, on: view, to: request, viewer)
            case .done(let link, let notice):
                if request.wantsJSON {
                    let done: JSONValue = ["done": notice.kind.rawValue, "count": notice.count, "see": link.text]
                    return Response(json: done.text + "\n")
                }
                return Response.redirect(to: notice.added(to: link) { access.seal($0, for: viewer) })
            }
        } catch {
            if let error = RequestError(error) { return answer(error, to: request, viewer) }
            let explanation = Explanation(error)
            let isReading = request.method != "POST"
            configuration.observer(isReading ? .pageFailed(request, explanation) : .changeFailed(request, explanation))
            return answer(RequestError(explaining: explanation, isReading: isReading), to: request, viewer)
        }
    }

    private func answer(
        _ error: RequestError,
        on view: (any PageView)? = nil,
        to request: Request,
        _ viewer: Viewer
    ) -> Response {
        request.wantsJSON
            ? error.document : page(view ?? ErrorView(error: error), for: request, viewer, status: error.status)
    }

    private func answer(_ view: any PageView, to request: Request, _ viewer: Viewer) -> Response {
        request.wantsJSON ? Response(json: view.json.text + "\n") : page(view, for: request, viewer)
    }

    private func page(_ view: any PageView, for request: Request, _ viewer: Viewer, status: Int = 200) -> Response {
        let notice = Notice(request) { access.seal($0, for: viewer) }
        return PageFrame(view: view, viewer: viewer, notice: notice, mount: mount, version: configuration.version)
            .response(status: status)
    }
}

extension ServiceDatabase.Group {
    /// A statement may wait for earlier ones as long as it may run. A browser gives up on a page after ten seconds.
    fileprivate static let reading = Self(
        name: "reading",
        connections: 3,
        server: .any,
        statementTimeout: .seconds(5),
        settings: SessionSettings.unhurried.with(["lock_timeout": "1s", "default_transaction_read_only": "on"]),
        isReading: true,
        longestWait: .seconds(5)
    )
    fileprivate static let changing = Self(
        name: "changing",
        connections: 2,
        statementTimeout: .seconds(20),
        settings: SessionSettings.unhurried.with(["lock_timeout": "3s", "carillon.source": "dashboard"]),
        longestWait: .seconds(10)
    )
}
