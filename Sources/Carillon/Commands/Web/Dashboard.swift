import CarillonPostgres
import CarillonWeb

/// The dashboard as routes: who may ask, what is read, and the answer as a page or as JSON.
struct Dashboard: Sendable {
    private typealias Reading = @Sendable (Request) async throws -> any PageView

    let database: WebDatabase
    let access: WebAccess
    let tokens: TokenDisplay
    let log: Log

    func server(at address: Address) -> WebServer {
        var limits = Limits()
        limits.bodyBytes = 4 * 1024
        // All viewers may be behind one proxy.
        limits.connectionsPerAddress = limits.connections
        let login = LoginRoutes(access: access)
        let pages = [
            page("/") { _ in try await OverviewQuery(database: database).run() },
            page("/apps") { _ in try await AppListQuery(database: database).run() },
            page("/apps/{name}") { try await AppQuery(database: database, $0).run() },
            page("/find") { try await FindQuery(database: database, tokens: tokens, $0).run() },
            page("/messages/{id}") { try await MessageQuery(database: database, tokens: tokens, $0).run() },
            page("/failures") { try await FailuresQuery(database: database, tokens: tokens, $0).run() },
            page("/broadcasts") { _ in try await BroadcastsQuery(database: database).run() },
            page("/workers") { _ in try await WorkersQuery(database: database).run() },
            page("/credentials") { _ in try await CredentialsQuery(database: database).run() },
        ]
        return WebServer(
            host: address.host,
            port: address.port,
            limits: limits,
            admission: { access.refusal(of: $0) },
            routes: pages + login.routes + Assets.all.map(\.route)
        )
    }

    private func page(_ path: String, _ read: @escaping Reading) -> Route {
        Route(.get, path) { request in
            guard access.admits(request) else { return LoginRoutes.challenge(request) }
            do {
                return answer(try await read(request), to: request)
            } catch let error as PageError {
                let view = TroubleView(sentence: error.sentence, hint: error.hint, isPassing: false)
                return answer(view, to: request, status: error.status)
            } catch {
                let trouble = CommandError(explaining: error)
                log.debug("A page could not be read.", ["path": path, "error": trouble.sentence])
                return answer(TroubleView(explaining: trouble), to: request, status: 503)
            }
        }
    }

    private func answer(_ view: any PageView, to request: Request, status: Int = 200) -> Response {
        if request.wantsJSON { return Response(json: view.json.text + "\n", status: status) }
        return Response(page: PageFrame(view: view, hasLogout: access.takesPassword).html, status: status)
    }
}
