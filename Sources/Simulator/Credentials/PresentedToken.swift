import CarillonTLS
import FoundationEssentials

/// A parsed provider token (JWT). Its signature is not verified yet.
struct PresentedToken: Sendable {
    // The log names a member of a wrong type.
    private struct Header: Decodable {
        let alg: StringOrNumber?
        let kid: StringOrNumber?
    }

    private struct Claims: Decodable {
        let iss: StringOrNumber?
        let iat: StringOrNumber?
    }

    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Double
    /// The bytes that the signature covers: header and claims, unchanged.
    let signedBytes: [UInt8]
    /// r and s, 32 bytes each, even if the signature was DER.
    let signature: [UInt8]
    /// A mistake that Apple accepts although the JSON Web Token is not correct.
    let oddity: APNsRefusal?

    /// Reads the value of an `authorization` field.
    init(authorization: Span<UInt8>) throws(APNsRefusal) {
        let parts = authorization.array.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: true)
        guard parts.count > 1, parts[0].map({ $0 | 0x20 }) == Array("bearer".utf8) else { throw .missingProviderToken }
        guard parts.count == 2 else { throw .malformedToken }
        guard !parts[1].contains(UInt8(ascii: "=")) else { throw .paddedToken }
        guard !parts[1].contains(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }) else {
            throw .tokenBase64
        }
        let pieces = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard pieces.count == 3,
            let header = Base64URL.decode(pieces[0]),
            let claims = Base64URL.decode(pieces[1]),
            let signed = Base64URL.decode(pieces[2]),
            let head = try? JSONDecoder().decode(Header.self, from: Data(header)),
            let body = try? JSONDecoder().decode(Claims.self, from: Data(claims))
        else { throw .malformedToken }
        guard head.alg?.text == "ES256" else { throw .tokenAlgorithm }
        guard let keyID = head.kid?.text, !keyID.isEmpty else { throw .tokenWithoutKeyID }
        guard let teamID = body.iss?.text, !teamID.isEmpty else { throw .tokenWithoutTeamID }
        // Apple documents a number, and also accepts one in quotes.
        let issuedAt = body.iat?.number ?? body.iat?.text.flatMap { Double($0) }
        guard let issuedAt, issuedAt.isFinite else { throw .tokenWithoutTime }
        guard let signature = signed.count == 64 ? signed : ES256.raw(der: signed) else { throw .tokenSignatureLength }
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
        signedBytes = Array(parts[1][..<pieces[1].endIndex])
        self.signature = signature
        oddity = signed.count != 64 ? .derSignature : body.iat?.number == nil ? .quotedIssueTime : nil
    }
}
