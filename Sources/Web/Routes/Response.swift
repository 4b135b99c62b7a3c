package struct Response: Sendable {
    package let status: Int
    package private(set) var headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// If set, it replaces the body.
    package private(set) var stream: ResponseStream?

    package init(status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    package init(text: String, status: Int = 200, contentType: String = "text/plain; charset=utf-8") {
        self.init(status: status, headers: [("Content-Type", contentType)], body: Array(text.utf8))
    }

    /// Text that is JSON already.
    package init(json: String, status: Int = 200) {
        self.init(text: json, status: status, contentType: "application/json")
    }

    /// A body that is sent in pieces. A proxy must pass each one on at once.
    package init(stream: ResponseStream, contentType: String) {
        self.init(headers: [("Content-Type", contentType), ("X-Accel-Buffering", "no")])
        self.stream = stream
    }

    /// A page that loads nothing from elsewhere, runs no inline script and cannot be framed.
    package init(page: HTML, status: Int = 200) {
        self.init(text: page.markup, status: status, contentType: "text/html; charset=utf-8")
        headers += Self.pageHeaders
    }

    /// Redirects to another page of this server, which the client fetches with GET.
    package static func redirect(to link: Link) -> Response {
        Response(status: 303, headers: [("Location", link.text)])
    }

    /// Redirects to the page's actual address, keeping the method.
    static func moved(to link: Link) -> Response {
        Response(status: 308, headers: [("Location", link.text)])
    }

    package func adding(_ name: String, _ value: String) -> Response {
        var response = self
        response.headers.append((name, value))
        return response
    }

    private static let pageHeaders = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
                + "base-uri 'none'; frame-ancestors 'none'"
        ),
        ("X-Frame-Options", "DENY"), ("Referrer-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
        ("Vary", "Accept, Cookie"),
    ]
}
