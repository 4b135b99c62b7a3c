/// A request as a receiver of webhooks reads it.
package struct WebhookRequest: Sendable {
    /// Without its line ends, and with the request line.
    package let headers: [String]
    package let body: String

    /// The value of a header; nil if there is none.
    package func header(_ name: String) -> String? {
        headers.first { $0.lowercased().hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
    }
}

extension RawLine {
    /// The client's next request of HTTP/1.1; nil at its end.
    package mutating func nextWebhookRequest() async throws -> WebhookRequest? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = try await next(1) else { return nil }
            head += byte
        }
        let headers = String(decoding: head.dropLast(4), as: UTF8.self).split(separator: "\r\n").map(String.init)
        let request = WebhookRequest(headers: headers, body: "")
        let count = request.header("content-length").flatMap { Int($0) } ?? 0
        guard let body = try await next(count) else { return nil }
        return WebhookRequest(headers: headers, body: String(decoding: body, as: UTF8.self))
    }

    /// Sends a response without a body.
    package mutating func respond(_ status: Int, _ headers: String = "") async throws {
        try await send(Array("HTTP/1.1 \(status) Any\r\nContent-Length: 0\r\n\(headers)\r\n".utf8))
    }
}
