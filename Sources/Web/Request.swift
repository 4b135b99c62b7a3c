/// A complete request.
package struct Request: Sendable {
    /// As the client sent it, so it may be `HEAD`.
    package let method: String
    /// Without the query.
    package let path: String
    package let query: [(name: String, value: String)]
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    /// The first header with that name, ignoring case.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    /// The first query parameter with that name.
    package func parameter(_ name: String) -> String? { query.first { $0.name == name }?.value }
}
