/// A host of a connection string, as libpq names it.
package struct ServerPlace: Hashable, Sendable {
    package let host: String
    package let port: String
}
