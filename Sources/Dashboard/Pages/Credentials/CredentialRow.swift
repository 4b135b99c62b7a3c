import CarillonPostgres
import CarillonSchema
import CarillonText

struct CredentialRow: Record {
    let name: String
    let status: CredentialStatus?
    let end: Moment?
    /// In seconds.
    let expiresIn: Int64?
    let error: String?
    let apps: [String]
    let json: JSONValue

    private enum CodingKeys: String, CodingKey {
        case name, status, error, apps, json
        case end = "not_after"
        case expiresIn = "expires_in_seconds"
    }
}
