import CarillonText

/// An address on this server. It begins with exactly one slash, so it cannot lead elsewhere or be a script.
package struct Link: Sendable, Equatable {
    /// The base of the links that a task writes: the part of the server that the task serves.
    @TaskLocal package static var base: [String] = []

    private let path: [String]
    private let query: [(name: String, value: String)]
    /// Whether it starts at the top of the server, whatever the base.
    private let isWhole: Bool

    /// A link below the base. Parameters whose value is nil are left out.
    package init(_ path: String..., query: KeyValuePairs<String, String?> = [:]) {
        self.init(path: path, query: Self.given(query), isWhole: false)
    }

    /// A link from the top of the server.
    package static func top(_ path: String..., query: KeyValuePairs<String, String?> = [:]) -> Link {
        Link(path: path, query: given(query), isWhole: true)
    }

    private static func given(_ query: KeyValuePairs<String, String?>) -> [(name: String, value: String)] {
        query.compactMap { name, value in value.map { (name, $0) } }
    }

    /// A header of a response has room for a link that a client sent, also within a parameter of another.
    static let maxBytes = 4_096

    /// An address that a client sent; nil if it does not belong to this server, or is long.
    package init?(sent text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let query = FormFields.read(parts.dropFirst().first ?? "".utf8[...]) else { return nil }
        self.init(sent: Substring(parts[0]), query: query)
    }

    /// The address of a request, or the address that it would have with another path; nil if that does not belong to this server,
    /// or is long.
    package init?(of request: Request, path: Substring? = nil) {
        self.init(sent: path ?? request.path[...], query: request.query)
    }

    private init?(sent text: Substring, query: [(name: String, value: String)]) {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var path: [String] = []
        for segment in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let part = PathSegment.read(segment) else { return nil }
            path.append(part)
        }
        self.init(path: path == [""] ? [] : path, query: query, isWhole: true)
        guard self.text.utf8.count <= Self.maxBytes else { return nil }
    }

    private init(path: [String], query: [(name: String, value: String)], isWhole: Bool) {
        self.path = path
        self.query = query
        self.isWhole = isWhole
    }

    /// The link with this parameter set, or removed if the value is nil.
    package func with(_ name: String, _ value: String?) -> Link {
        let others = query.filter { $0.name != name }
        return Link(path: path, query: others + (value.map { [(name, $0)] } ?? []), isWhole: isWhole)
    }

    /// A GET request for this link, as the client of another request would send it.
    package func request(like other: Request) -> Request {
        Request(method: "GET", path: pathText, query: query, headers: other.headers, peer: other.peer)
    }

    private var pathText: String {
        "/" + ((isWhole ? [] : Self.base) + path).map(PathSegment.write).joined(separator: "/")
    }

    package var text: String {
        let parameters = query.map { $0.name.percentEncoded() + "=" + $0.value.percentEncoded() }
        return pathText + (parameters.isEmpty ? "" : "?" + parameters.joined(separator: "&"))
    }

    package static func == (one: Link, other: Link) -> Bool { one.text == other.text }
}
