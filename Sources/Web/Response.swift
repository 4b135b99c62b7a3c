package struct Response: Sendable {
    package let status: Int
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

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

    package init(html: String, status: Int = 200) {
        self.init(text: html, status: status, contentType: "text/html; charset=utf-8")
    }
}
