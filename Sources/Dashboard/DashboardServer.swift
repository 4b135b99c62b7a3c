package import CarillonPostgres
import CarillonText
package import CarillonWeb

/// Serves the dashboards of one or several databases on one address.
package struct DashboardServer: Sendable {
    private let dashboards: [Dashboard]
    private let configuration: DashboardConfiguration

    /// - Parameter databases: the connection string of each, from which its address is named, and its source, which is read again
    /// for each connection.
    package init(_ databases: [(text: String, source: DatabaseSource)], _ configuration: DashboardConfiguration) {
        dashboards = zip(DatabaseMount.of(databases.map(\.text)), databases).map { mount, database in
            Dashboard(mount, database.source, configuration)
        }
        self.configuration = configuration
    }

    package func close() async {
        for dashboard in dashboards { await dashboard.database.close() }
    }

    package func server(at address: Address) -> WebServer {
        var limits = ClientLimits()
        limits.bodyBytes = MessagePost.bodyBytes
        let (access, observer) = (access, configuration.observer)
        let live = LiveFeed(loop: configuration.loop) { await readPage($0) }
        return WebServer(
            host: address.host,
            port: address.port,
            limits: limits,
            admission: { refusal(of: $0) },
            refusing: { answer(to: $1, refused: $0) },
            observer: { observer(.server($0)) },
            routes: dashboards.flatMap(\.routes) + list + LoginRoutes(access: access, observer: observer).routes
                + Assets.all.map(\.route) + [Route(.get, "/live") { await live.answer($0) }]
        )
    }

    private func refusal(of request: Request) -> Response? {
        guard let refusal = access.refusal(of: request) else { return nil }
        configuration.observer(.refused(request))
        return refusal
    }

    /// Responds to a person with a page with links to others. Sets no cookie, because browsers also request icons by themselves.
    private func answer(to request: Request, refused refusal: HTTPRefusal) -> Response {
        guard refusal.cause == .unknownPath, ["GET", "HEAD"].contains(request.method), !request.isOfProgram,
            access.refusal(of: request) == nil, var viewer = access.viewer(of: request)
        else { return RequestError.writing(refusal, request) }
        viewer.newCookie = nil
        let mount = dashboards.map(\.mount).first { request.path.hasPrefix($0.path("/") + "/") }
        let error = RequestError.notFound(refusal.detail, hint: "Choose a page from the menu.")
        return Link.$base.withValue(mount?.base ?? []) {
            page(ErrorView(error: error), viewer, mount: mount ?? (hasList ? .list : .only), status: refusal.status)
        }
    }

    private func page(_ view: any PageView, _ viewer: Viewer, mount: DatabaseMount, status: Int = 200) -> Response {
        PageFrame(view: view, viewer: viewer, notice: nil, mount: mount, version: configuration.version)
            .response(status: status)
    }

    private var access: WebAccess { configuration.access }

    private var hasList: Bool { dashboards.count > 1 }

    private var list: [Route] {
        guard hasList else { return [] }
        return [
            Route(.get, "/") { request in
                guard let viewer = access.viewer(of: request) else { return access.challenge(request) }
                let view = await DatabasesQuery(dashboards: dashboards, request: request).run()
                if request.wantsJSON { return Response(json: view.json.text + "\n") }
                return page(view, viewer, mount: .list)
            }
        ]
    }

    private func readPage(_ request: Request) async -> LivePage? {
        if hasList, request.path == "/" {
            guard let viewer = access.viewer(of: request) else { return nil }
            return LivePage(await DatabasesQuery(dashboards: dashboards, request: request).run(), viewer)
        }
        for dashboard in dashboards {
            if let page = await dashboard.readPage(request) { return page }
        }
        return nil
    }
}
