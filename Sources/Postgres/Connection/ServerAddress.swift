/// A host of a connection string, as libpq names it.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: String

    package var description: String { port.isEmpty ? host : host + ":" + port }
}
