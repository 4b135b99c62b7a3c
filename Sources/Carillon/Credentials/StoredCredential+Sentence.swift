import PushQueue

extension StoredCredential {
    /// What it is, for people.
    var sentence: String {
        switch kind {
        case .token: return "the signing key \(keyID ?? "?") of team \(teamID ?? "?")."
        case .certificate:
            let topics = topics.isEmpty ? "that names no topic" : "for " + topics.joined(separator: ", ")
            return "a certificate \(topics), valid until \(notAfter.map(UnixDay.text) ?? "?")."
        }
    }
}
