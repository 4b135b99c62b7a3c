/// A file within the program, such as a style sheet. Its address changes with its content, so browsers may keep it.
package struct StaticFile: Sendable {
    private let name: String
    private let contentType: String
    private let bytes: [UInt8]
    private let digest: String

    package init(_ name: String, contentType: String, _ bytes: [UInt8]) {
        self.name = name
        self.contentType = contentType
        self.bytes = bytes
        // FNV-1a: the digest only has to differ between versions.
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        digest = String(hash, radix: 16)
    }

    package var link: Link { Link.top("assets", name, query: ["v": digest]) }

    package var route: Route {
        Route(.get, "/assets/" + name) { request in response(to: request) }
    }

    private func response(to request: Request) -> Response {
        let tag = "\"\(digest)\""
        let headers = [
            ("ETag", tag), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", request.parameter("v") == digest ? "public, max-age=31536000, immutable" : "no-cache"),
        ]
        let known = request.header("If-None-Match")?.split(separator: ",").map { $0.filter { $0 != " " } } ?? []
        if known.contains(where: { $0 == tag || $0 == "W/" + tag || $0 == "*" }) {
            return Response(status: 304, headers: headers)
        }
        return Response(headers: [("Content-Type", contentType)] + headers, body: bytes)
    }
}
