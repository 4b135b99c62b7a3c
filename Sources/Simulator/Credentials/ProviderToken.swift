import FoundationEssentials
import TLS

/// A provider authentication token (JWT) taken apart; its signature is not yet believed.
struct ProviderToken: Sendable {
    private struct Header: Decodable {
        let alg: Lenient<String>?
        let kid: Lenient<String>?
    }

    private struct Claims: Decodable {
        let iss: Lenient<String>?
        let iat: Lenient<IssueTime>?
    }

    /// A member that counts as absent where it has another type, so that the log can name it.
    private struct Lenient<Value: Decodable>: Decodable {
        let value: Value?

        init(from decoder: any Decoder) throws {
            value = try? decoder.singleValueContainer().decode(Value.self)
        }
    }

    /// Apple wants a number, and takes one in quotes too.
    private struct IssueTime: Decodable {
        let seconds: Double
        let isQuoted: Bool

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                (self.seconds, self.isQuoted) = (number, false)
                return
            }
            guard let number = Double(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is no number of seconds.")
            }
            (self.seconds, self.isQuoted) = (number, true)
        }
    }

    let keyID: String
    let teamID: String
    /// Seconds since 1970.
    let issuedAt: Double
    /// What the signature covers: header and claims as they came.
    let signedBytes: [UInt8]
    /// r and s, 32 bytes each, in whichever form they came.
    let signature: [UInt8]
    /// What is wrong with the token though Apple takes it: what a JSON Web Token should be says otherwise.
    let oddity: Refusal?

    /// Reads the value of an `authorization` field.
    init(authorization: Span<UInt8>) throws(Refusal) {
        let parts = authorization.array.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: true)
        guard let scheme = parts.first, scheme.lowercased == Array("bearer".utf8) else {
            throw .missingProviderToken
        }
        guard parts.count > 1 else { throw .missingProviderToken }
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
        guard head.alg?.value == "ES256" else { throw .tokenAlgorithm }
        guard let keyID = head.kid?.value, !keyID.isEmpty else { throw .tokenWithoutKeyID }
        guard let teamID = body.iss?.value, !teamID.isEmpty else { throw .tokenWithoutTeamID }
        guard let issued = body.iat?.value, issued.seconds.isFinite else { throw .tokenWithoutTime }
        guard let signature = signed.count == 64 ? signed : ES256.raw(der: signed) else { throw .tokenSignatureLength }
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issued.seconds
        self.signedBytes = Array(parts[1][..<pieces[1].endIndex])
        self.signature = signature
        self.oddity = signed.count != 64 ? .derSignature : issued.isQuoted ? .quotedIssueTime : nil
    }
}

extension ArraySlice<UInt8> {
    fileprivate var lowercased: [UInt8] {
        map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }
}
