import ApplePushSimulator
import CarillonIO
import CarillonWeb

extension ExportService {
    /// The paths of Apple's export service, and those that its answers name.
    var routes: [Route] {
        let path = "/v1/dataExports/apns/teams/{team}/appId/{app}/datasetName/{dataset}/request"
        func route(
            _ method: Method,
            _ path: String,
            _ answer:
                @escaping @Sendable (Request, _ token: String?, _ base: String, _ now: Int64) -> ExportService.Response
        ) -> Route {
            Route(method, path) { request in
                let token = request.header("X-Apple-CloudKit-Management-Token")
                // Where the client has found the service.
                let base = "http://" + (request.header("Host") ?? "localhost")
                let (status, body) = answer(request, token, base, WallClock.microseconds)
                let type = body.hasPrefix("{") ? "application/json" : "text/csv; charset=utf-8"
                return CarillonWeb.Response(text: body, status: status, contentType: type)
            }
        }
        return [
            route(.post, path) { request, token, base, now in
                let path = ["team", "app", "dataset"].map { request.pathParameters[$0] ?? "" }
                return self.request(path, token: token, body: request.body, base: base, now: now)
            },
            route(.get, "/v1/dataExports/status/{id}") { request, token, base, now in
                self.status(of: request.pathParameters["id"] ?? "", token: token, base: base, now: now)
            },
            route(.get, "/v1/dataExports/files/{id}") { request, _, _, _ in
                self.file(request.pathParameters["id"] ?? "")
            },
        ]
    }
}
