import FoundationEssentials
import Postgres
import TLS

/// What several commands ask of the table `certificates`.
enum CredentialTable {
    private static let note = Statement(
        "credential_note",
        """
        UPDATE carillon.certificates SET not_after = $2, topics = $3, status = $4, last_error = $5 WHERE name = $1
        """
    )

    /// Writes down what was found in a credential that can be used.
    static func note(
        _ name: String,
        _ verdict: StoredCredential.Verdict,
        on connection: PostgresConnection
    ) async throws {
        let now = Int64(Date.now.timeIntervalSince1970)
        var parameters = Parameters()
        parameters.append(name)
        parameters.append(timestamp: verdict.notAfter.map { $0 * 1_000_000 })
        parameters.append(PostgresArray(verdict.topics))
        parameters.append(CredentialStatus(notAfter: verdict.notAfter, now: now).rawValue)
        parameters.append(String?.none)
        _ = try await connection.execute(note, parameters)
    }

    /// Writes down why a credential cannot be used.
    static func note(_ name: String, problem: String, on connection: PostgresConnection) async throws {
        var parameters = Parameters()
        parameters.append(name)
        parameters.append(timestamp: nil)
        parameters.append(PostgresArray([String]()))
        parameters.append("invalid")
        parameters.append(problem)
        _ = try await connection.execute(note, parameters)
    }
}

extension StoredCredential.Verdict {
    /// What it is, for people.
    var sentence: String {
        switch self {
        case .certificate(let facts):
            let topics = facts.topics.isEmpty ? "that names no topic" : "for " + facts.topics.joined(separator: ", ")
            return "a certificate \(topics), valid until \(UnixDay.text(facts.notAfter))."
        case .signingKey(let keyID, let teamID):
            return "the signing key \(keyID) of team \(teamID)."
        }
    }
}

/// Days as people write them to people everywhere.
enum UnixDay {
    static func text(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(seconds)).formatted(Date.ISO8601FormatStyle().year().month().day())
    }
}
