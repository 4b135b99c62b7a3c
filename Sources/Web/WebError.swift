/// Why a server cannot start.
package struct WebError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; more kinds may come.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// Another program listens there.
        package static let addressInUse = Code(description: "addressInUse")
        /// Not an address, or not one of this machine's.
        package static let addressUnavailable = Code(description: "addressUnavailable")
        /// The operating system forbids it.
        package static let forbidden = Code(description: "forbidden")
        /// Anything else.
        package static let system = Code(description: "system")
    }

    package let code: Code
    package let message: String

    package var description: String { self.message }
}
