import CarillonTLS
import FoundationEssentials

/// A secret that clients of a service must send.
struct AccessToken: Sendable {
    private static let shortest = 16

    /// Digests are compared, so that the time of the comparison reveals nothing about the token, not even its length.
    private let digest: [UInt8]

    init(_ text: String) throws(UsageError) {
        guard text.utf8.count >= Self.shortest else {
            throw UsageError(
                "An access token has \(Self.shortest) characters at least: make one with 'openssl rand -hex 20'."
            )
        }
        guard text.utf8.allSatisfy({ (33...126).contains($0) }) else {
            throw UsageError("An access token has visible ASCII characters only: make one with 'openssl rand -hex 20'.")
        }
        digest = Self.digest(of: text)
    }

    /// Checks the header `Authorization`: a bearer token, or the password of any user.
    func admits(_ authorization: String?) -> Bool {
        guard let words = authorization?.split(separator: " ", maxSplits: 1), words.count == 2 else { return false }
        switch words[0].lowercased() {
        case "bearer": return isSame(words[1])
        case "basic":
            guard let data = Data(base64Encoded: String(words[1])) else { return false }
            let pair = String(decoding: data, as: UTF8.self)
            return pair.firstIndex(of: ":").map { isSame(pair[pair.index(after: $0)...]) } ?? false
        default: return false
        }
    }

    private func isSame(_ text: Substring) -> Bool {
        Digest.areSame(digest, Self.digest(of: String(text)))
    }

    private static func digest(of text: String) -> [UInt8] { Digest.sha256(Array(text.utf8).span.bytes) }
}
