import CarillonSchema
import CarillonText
import CarillonWeb

/// Pages below one address: checks who asks for them, and responds with HTML or JSON.
struct PageSite: Sendable {
    typealias Changing = @Sendable (Request, Form, Viewer) async throws -> ActionResult

    struct Page: Sendable {
        let path: String
        let read: @Sendable (Request, Viewer) async throws -> any PageView
    }

    let mount: DatabaseMount
    let configuration: DashboardConfiguration
    var pages: [Page] = []

    private var access: WebAccess { configuration.access }

    var routes: [Route] { pages.map(route) }

    /// A route whose links lead to these pages.
    func route(_ method: CarillonWeb.Method, _ path: String, _ handler: @escaping Route.Handler) -> Route {
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
    func action(_ path: String, _ change: @escaping Changing) -> Route {
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
            case .page(let view):
                return request.wantsJSON ? Response(json: view.json.text + "\n") : page(view, for: request, viewer)
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
            ? error.document
            : page(view ?? ErrorView(error: error), for: request, viewer, status: error.status.rawValue)
    }

    func page(_ view: any PageView, for request: Request, _ viewer: Viewer, status: Int = 200) -> Response {
        let notice = Notice(request) { access.seal($0, for: viewer) }
        return PageFrame(view: view, viewer: viewer, notice: notice, mount: mount, version: configuration.version)
            .response(status: status)
    }
}
