import CPostgres

/// The library behind this module.
package enum ClientLibrary {
    /// The version of libpq that this program runs with, such as `15.18`.
    package static var version: String {
        let number = PQlibVersion()
        return "\(number / 10_000).\(number % 10_000)"
    }
}
