import CarillonIO
import CarillonWeb

/// One address for the dashboards of one database or several.
struct DashboardServer: Sendable {
    let dashboards: [Dashboard]
    let access: WebAccess
    let loop: EventLoop

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
            admission: { access.refusal(of: $0) },
            refusing: ProblemDocument.writing,
            routes: dashboards.flatMap(\.routes) + list + LoginRoutes(access: access).routes + Assets.all.map(\.route)
                + [Route(.get, "/live") { await live.answer($0) }]
        )
    }

    private var hasList: Bool { dashboards.count > 1 }

    private var list: [Route] {
        guard hasList else { return [] }
        return [
            Route(.get, "/") { request in
                guard let viewer = access.viewer(of: request) else {
                    return LoginRoutes(access: access).challenge(request)
                }
                let view = await DatabasesQuery(dashboards: dashboards).run()
                if request.wantsJSON { return Response(json: view.json.text + "\n") }
                return PageFrame(view: view, viewer: viewer, notice: nil, place: .list).response(status: 200)
            }
        ]
    }

    private func look(_ request: Request) async -> LivePage? {
        if hasList, request.path == "/" {
            guard let viewer = access.viewer(of: request) else { return nil }
            return LivePage(await DatabasesQuery(dashboards: dashboards).run(), viewer)
        }
        for dashboard in dashboards {
            if let page = await dashboard.look(request) { return page }
        }
        return nil
    }
}
