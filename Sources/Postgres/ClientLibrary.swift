import CarillonCPostgres

/// libpq.
package enum ClientLibrary {
    /// The version at run time, such as `15.18`.
    package static var version: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
