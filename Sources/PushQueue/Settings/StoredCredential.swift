/// What is known of a stored credential, without its secrets.
package struct StoredCredential: Sendable, Equatable, Identifiable {
    package enum Kind: String, Sendable {
        case certificate
        case token
    }

    package let id: Int32
    package let name: String
    package let kind: Kind
    package let keyID: String?
    package let teamID: String?
    /// Microseconds since 1970; signing keys do not expire.
    package internal(set) var notAfter: Int64?
    package internal(set) var topics: [String]
    /// Nil: no program has read it yet.
    package internal(set) var status: String?
    package internal(set) var lastError: String?
    /// Microseconds since 1970.
    package let updatedAt: Int64
    /// The apps that use it.
    package let apps: [String]
}
