import FoundationEssentials
import TLS

/// A provider authentication token (JWT) taken apart; its signature is not yet believed.
struct ProviderToken: Sendable {
    private struct Header: Decodable {
        let alg: String
        let kid: String
    }

    private struct Claims: Decodable {
        let iss: String
        let iat: Double  // a JSON number: a quoted one is an error, as it is at Apple's
    }

    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Double
    /// What the signature covers: header and claims as they came.
    let signedBytes: [UInt8]
    /// r and s, 32 bytes each.
    let signature: [UInt8]

    /// Reads the value of an `authorization` field.
    init(authorization: Span<UInt8>) throws(Refusal) {
        let parts = authorization.array.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: true)
        guard let scheme = parts.first, scheme.lowercased == Array("bearer".utf8) else {
            throw .missingProviderToken
        }
        guard parts.count > 1 else { throw .missingProviderToken }
        guard parts.count == 2 else { throw .invalidProviderToken }
        let pieces = parts[1].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard pieces.count == 3,
            let header = Base64URL.decode(pieces[0]),
            let claims = Base64URL.decode(pieces[1]),
            let signature = Base64URL.decode(pieces[2]),
            signature.count == 64,
            let head = try? JSONDecoder().decode(Header.self, from: Data(header)),
            let body = try? JSONDecoder().decode(Claims.self, from: Data(claims)),
            head.alg == "ES256", !head.kid.isEmpty, !body.iss.isEmpty, body.iat.isFinite
        else { throw .invalidProviderToken }
        self.keyID = head.kid
        self.teamID = body.iss
        self.issuedAt = body.iat
        self.signedBytes = Array(parts[1][..<pieces[1].endIndex])
        self.signature = signature
    }
}

extension ArraySlice<UInt8> {
    fileprivate var lowercased: [UInt8] {
        map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }
}
