package import CarillonPostgres
package import CarillonSchema

/// A row of `certificates`, without its secrets.
package struct StoredCredential: Decodable, Equatable, Identifiable, Sendable {
    package enum Kind: String, Sendable {
        case certificate
        case token
    }

    package let id: Int32
    package let name: String
    package let keyID: String?
    package let teamID: String?
    /// Signing keys do not expire.
    package internal(set) var notAfter: Moment?
    package internal(set) var topics: [String]
    /// Nil if no program has read it yet.
    package internal(set) var status: CredentialStatus?
    package internal(set) var lastError: String?
    package let apps: [String]

    package var kind: Kind { keyID == nil ? .certificate : .token }

    /// Whether a credential for these topics may send to the topic, or to one that Apple derives from it. A credential
    /// that names no topic may send to any.
    package static func allows(_ topic: String, among topics: [String]) -> Bool {
        topics.isEmpty || topics.contains { topic == $0 || topic.hasPrefix($0 + ".") }
    }
}
