import CarillonIO
import CarillonText
import CarillonWeb

/// One address for the dashboards of one database or several.
struct DashboardServer: Sendable {
    let dashboards: [Dashboard]
    let access: WebAccess
    let loop: EventLoop
    let log: WebLog

    func server(at address: Address) -> WebServer {
        var limits = Limits()
        limits.bodyBytes = MessagePost.bodyBytes
        // All viewers may be behind one proxy.
        limits.connectionsPerAddress = limits.connections
        let live = LiveFeed(loop: loop) { await look($0) }
        return WebServer(
            host: address.host,
            port: address.port,
            limits: limits,
            admission: { refusal(of: $0) },
            refusing: { answer(to: $1, refused: $0) },
            observer: { log.warnings.tell($0) },
            routes: dashboards.flatMap(\.routes) + list + LoginRoutes(access: access, log: log).routes
                + Assets.all.map(\.route) + [Route(.get, "/live") { await live.answer($0) }]
        )
    }

    private func refusal(of request: Request) -> Response? {
        guard let refusal = access.refusal(of: request) else { return nil }
        log.refused(request)
        return refusal
    }

    /// For a person who has typed an address, a page that leads to others. It sets no cookie: a browser asks for icons by itself.
    private func answer(to request: Request, refused refusal: Refusal) -> Response {
        guard refusal.cause == .unknownPath, ["GET", "HEAD"].contains(request.method), !request.isOfProgram,
            access.refusal(of: request) == nil, var viewer = access.viewer(of: request)
        else { return ProblemDocument.writing(refusal, request) }
        viewer.newCookie = nil
        let place = dashboards.map(\.place).first { request.path.hasPrefix($0.path("/") + "/") }
        let error = PageError.notFound(refusal.detail, hint: "The menu leads to the pages.")
        return Link.$base.withValue(place?.base ?? []) {
            PageFrame(view: TroubleView(error), viewer: viewer, notice: nil, place: place ?? (hasList ? .list : .only))
                .response(status: refusal.status)
        }
    }

    private var hasList: Bool { dashboards.count > 1 }

    private var list: [Route] {
        guard hasList else { return [] }
        return [
            Route(.get, "/") { request in
                guard let viewer = access.viewer(of: request) else {
                    return access.challenge(request)
                }
                let view = await DatabasesQuery(dashboards: dashboards, request: request).run()
                if request.wantsJSON { return Response(json: view.json.text + "\n") }
                return PageFrame(view: view, viewer: viewer, notice: nil, place: .list).response(status: 200)
            }
        ]
    }

    private func look(_ request: Request) async -> LivePage? {
        if hasList, request.path == "/" {
            guard let viewer = access.viewer(of: request) else { return nil }
            return LivePage(await DatabasesQuery(dashboards: dashboards, request: request).run(), viewer)
        }
        for dashboard in dashboards {
            if let page = await dashboard.look(request) { return page }
        }
        return nil
    }
}
