/// What a client asks, whole.
package struct Request: Sendable {
    /// As it came, so it may be `HEAD`.
    package let method: String
    /// Without the query.
    package let path: String
    package let query: [(name: String, value: String)]
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]

    /// The first header of that name, in whatever case.
    package func header(_ name: String) -> String? {
        let name = name.lowercased()
        return self.headers.first { $0.name.lowercased() == name }?.value
    }

    /// The first parameter of that name in the query.
    package func parameter(_ name: String) -> String? {
        self.query.first { $0.name == name }?.value
    }
}
