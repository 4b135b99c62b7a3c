/// What is known about a credential; `missing`: the app has none.
package enum CredentialStatus: String, CaseIterable, Decodable, Sendable {
    case ok, expiring, expired, invalid, rejected, missing
}
