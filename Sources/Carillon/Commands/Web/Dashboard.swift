import CarillonPostgres
import CarillonWeb

/// The dashboard as routes: who may ask, what is read or changed, and the answer as a page or as JSON.
struct Dashboard: Sendable {
    private typealias Reading = @Sendable (Request, Viewer) async throws -> any PageView
    private typealias Changing = @Sendable (Request, Form, Viewer) async throws -> ActionResult

    let database: WebDatabase
    let access: WebAccess
    let tokens: TokenDisplay
    let log: Log

    func server(at address: Address) -> WebServer {
        var limits = Limits()
        limits.bodyBytes = MessagePost.bodyBytes
        // All viewers may be behind one proxy.
        limits.connectionsPerAddress = limits.connections
        return WebServer(
            host: address.host,
            port: address.port,
            limits: limits,
            admission: { access.refusal(of: $0) },
            routes: pages + actions + LoginRoutes(access: access).routes + Assets.all.map(\.route)
                + [MessagePost(database: database).route]
        )
    }

    private var pages: [Route] {
        [
            page("/") { _, _ in try await OverviewQuery(database: database).run() },
            page("/apps") { _, _ in try await AppListQuery(database: database).run() },
            page("/apps/{name}") { request, _ in try await AppQuery(database: database, request).run() },
            page("/find") { request, _ in try await FindQuery(database: database, tokens: tokens, request).run() },
            page("/messages/{id}") { request, _ in
                try await MessageQuery(database: database, tokens: tokens, request).run()
            },
            page("/messages/{id}/cancel") { request, _ in
                try await CancelQuery(database: database, request).run()
            },
            page("/failures") { request, _ in
                try await FailuresQuery(database: database, tokens: tokens, request).run()
            },
            page("/failures/requeue") { try await FailureActionQuery(.requeue, database, $0, $1).run() },
            page("/failures/dismiss") { try await FailureActionQuery(.dismiss, database, $0, $1).run() },
            page("/broadcasts") { _, _ in try await BroadcastsQuery(database: database).run() },
            page("/scheduled") { request, _ in try await ScheduledQuery(database: database, request).run() },
            page("/tokens") { _, _ in try await TokensQuery(database: database).run() },
            page("/channels") { _, _ in try await ChannelsQuery(database: database).run() },
            page("/workers") { _, _ in try await WorkersQuery(database: database).run() },
            page("/credentials") { _, _ in try await CredentialsQuery(database: database).run() },
            page("/test") { request, _ in try await TestPushQuery(database: database).run(request) },
            page("/changes") { request, _ in try await ChangesQuery(database: database, request).run() },
        ]
    }

    private var actions: [Route] {
        [
            action("/apps/{name}/pause") { try await AppAction(database).pause($0, $1, $2) },
            action("/apps/{name}/resume") { request, _, viewer in
                try await AppAction(database).resume(request, viewer)
            },
            action("/apps/{name}/limits") { try await AppAction(database).limit($0, $1, $2) },
            action("/messages/{id}/cancel") { try await CancelAction(database).run($0, $1, $2) },
            action("/failures/requeue") { _, form, viewer in
                try await FailureAction(.requeue, database).run(form, viewer)
            },
            action("/failures/dismiss") { _, form, viewer in
                try await FailureAction(.dismiss, database).run(form, viewer)
            },
            action("/test") { _, form, viewer in try await TestPushAction(database).run(form, viewer) },
        ]
    }

    private func page(_ path: String, _ read: @escaping Reading) -> Route {
        Route(.get, path) { request in
            guard let viewer = access.viewer(of: request) else { return LoginRoutes.challenge(request) }
            return await answer(to: request, viewer) { .page(try await read(request, viewer)) }
        }
    }

    /// A form that changes something. Another site cannot send it, since it does not know the viewer's form token.
    private func action(_ path: String, _ change: @escaping Changing) -> Route {
        Route(.post, path) { request in
            guard let viewer = access.viewer(of: request) else { return LoginRoutes.challenge(request) }
            return await answer(to: request, viewer) {
                guard viewer.mayChange else { throw PageError.mayNotChange }
                let form = try Form(request)
                guard access.isForm(form.whole(Viewer.formField), of: viewer) else { throw PageError.foreignForm }
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
            case .done(let link, let notice):
                if request.wantsJSON {
                    let done: JSONValue = ["done": notice.kind.rawValue, "count": notice.count, "see": link.text]
                    return Response(json: done.text + "\n")
                }
                return Response.redirect(to: notice.added(to: link))
            }
        } catch let error as PageError {
            let view = TroubleView(sentence: error.sentence, hint: error.hint, isPassing: false)
            return answer(view, to: request, viewer, status: error.status)
        } catch let error as PostgresError where SQLState.badArgument.contains(error.sqlState ?? "") {
            let view = TroubleView(
                sentence: error.message.asSentence,
                hint: error.hint?.asSentence,
                isPassing: false
            )
            return answer(view, to: request, viewer, status: 400)
        } catch {
            let trouble = CommandError(explaining: error)
            log.debug("A request could not be answered.", ["path": request.path, "error": trouble.sentence])
            let isReading = request.method != "POST"
            let view = TroubleView(explaining: trouble, isReading: isReading)
            return answer(view, to: request, viewer, status: 503)
        }
    }

    private func answer(_ view: any PageView, to request: Request, _ viewer: Viewer, status: Int = 200) -> Response {
        if request.wantsJSON { return Response(json: view.json.text + "\n", status: status) }
        let frame = PageFrame(view: view, viewer: viewer, notice: Notice(request))
        let response = Response(page: frame.html, status: status)
        return viewer.newCookie.map { response.adding("Set-Cookie", $0) } ?? response
    }
}

/// What became of a request.
enum ActionResult {
    case page(any PageView)
    /// Something was changed, and this page shows it.
    case done(Link, Notice)
}
