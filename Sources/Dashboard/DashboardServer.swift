package import CarillonPostgres
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
        limits.bodyBytes = APICall.bodyBytes
        let (access, observer) = (access, configuration.observer)
        let pages = dashboards.flatMap(\.routes) + list.flatMap(\.routes)
        let live = LiveFeed(loop: configuration.loop) { await readPage($0) }
        return WebServer(
            host: address.host,
            port: address.port,
            limits: limits,
            admission: { refusal(of: $0) },
            refusing: { answer(to: $1, refused: $0) },
            observer: { observer(.server($0)) },
            routes: pages + LoginRoutes(access: access, observer: observer).routes + Assets.all.map(\.route)
                + [Route(.get, "/live") { await live.answer($0) }]
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
        let site = PageSite(mount: mount ?? (hasList ? .list : .only), configuration: configuration)
        let error = RequestError.notFound(refusal.detail, hint: "Choose a page from the menu.")
        return Link.$base.withValue(site.mount.base) {
            site.page(ErrorView(error: error), for: request, viewer, status: refusal.status)
        }
    }

    private var access: WebAccess { configuration.access }

    private var hasList: Bool { dashboards.count > 1 }

    /// The list of several databases.
    private var list: [PageSite] {
        guard hasList else { return [] }
        let page = PageSite.Page(path: "/") { request, _ in await DatabasesView(dashboards, request) }
        return [PageSite(mount: .list, configuration: configuration, pages: [page])]
    }

    private func readPage(_ request: Request) async -> LivePage? {
        for site in dashboards.map(\.site) + list {
            if let page = await site.readPage(request) { return page }
        }
        return nil
    }
}
