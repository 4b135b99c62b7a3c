/// The path of a route: parts that are compared, and parts in braces that may be any text, as in `/apps/{name}`.
package struct PathPattern: Sendable, Hashable {
    private enum Part: Hashable {
        case fixed(String)
        case parameter(String)
    }

    private let parts: [Part]

    package init(_ text: String) {
        precondition(text.hasPrefix("/"), "a path begins with a slash")
        parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { part in
            part.hasPrefix("{") && part.hasSuffix("}")
                ? .parameter(String(part.dropFirst().dropLast())) : .fixed(String(part))
        }
    }

    /// The number of parameters. Patterns with fewer are tried first.
    var parameterCount: Int { parts.count { if case .parameter = $0 { true } else { false } } }

    /// The values of the parameters; nil if the path does not match. A parameter does not match an empty part.
    package func match(_ path: String) -> [String: String]? {
        let segments = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard path.utf8.first == UInt8(ascii: "/"), segments.count == parts.count else { return nil }
        var values: [String: String] = [:]
        for (part, segment) in zip(parts, segments) {
            switch part {
            case .fixed(let text):
                guard text.utf8.elementsEqual(segment) else { return nil }
            case .parameter(let name):
                guard !segment.isEmpty, let value = PathSegment.read(segment) else { return nil }
                values[name] = value
            }
        }
        return values
    }
}
