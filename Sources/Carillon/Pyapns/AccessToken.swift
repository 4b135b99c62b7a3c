import CarillonTLS
import CarillonWeb
import FoundationEssentials

/// A secret that clients of a service must send.
struct AccessToken: Sendable {
    private static let shortest = 16

    /// Digests are compared, so that the time of the comparison reveals nothing about the token, not even its length.
    private let digest: [UInt8]

    init(_ text: String) throws(UsageError) {
        guard text.utf8.count >= Self.shortest else {
            throw UsageError(
                "An access token must have at least \(Self.shortest) characters: make one with 'openssl rand -hex 20'."
            )
        }
        guard text.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw UsageError(
                "An access token may contain only visible ASCII characters: make one with 'openssl rand -hex 20'."
            )
        }
        digest = Digest.sha256(Array(text.utf8).span.bytes)
    }

    /// Checks the header `Authorization`: a bearer token, or the password of any user.
    func admits(_ authorization: String?) -> Bool {
        guard let (scheme, credentials) = Request.authorization(authorization) else { return false }
        switch scheme {
        case "bearer": return isSame(Array(credentials.utf8))
        case "basic":
            guard let pair = Data(base64Encoded: credentials) else { return false }
            return pair.firstIndex(of: UInt8(ascii: ":")).map { isSame(Array(pair[($0 + 1)...])) } ?? false
        default: return false
        }
    }

    private func isSame(_ text: [UInt8]) -> Bool { Digest.areSame(digest, Digest.sha256(text.span.bytes)) }
}
