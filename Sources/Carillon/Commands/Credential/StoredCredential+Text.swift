import CarillonPostgres
import CarillonPushQueue
import CarillonSchema

extension StoredCredential {
    /// What it is, for people.
    var sentence: String {
        switch kind {
        case .token: return "the signing key \(keyID ?? "?") of team \(teamID ?? "?")."
        case .certificate:
            let topics = topics.isEmpty ? "that names no topic" : "for " + topics.joined(separator: ", ")
            return "a certificate \(topics), valid until \(notAfter?.day ?? "?")."
        }
    }

    /// A sentence for each topic of the app to which APNs will refuse pushes.
    func mismatches(with app: App) -> [String] {
        app.allTopics.filter { !Self.allows($0, among: topics) }.map { topic in
            let own = topics.joined(separator: ", ")
            return "The certificate \(name) is for \(own), not for \(topic): APNs will refuse the pushes."
        }
    }
}
