import CarillonPushQueue
import CarillonText

extension StoredCredential {
    /// What it is, for people.
    var sentence: String {
        switch kind {
        case .token: return "the signing key \(keyID ?? "?") of team \(teamID ?? "?")."
        case .certificate:
            let topics = topics.isEmpty ? "that names no topic" : "for " + topics.joined(separator: ", ")
            return "a certificate \(topics), valid until \(notAfter.map(TimeText.day) ?? "?")."
        }
    }

    /// A sentence when APNs will refuse pushes to the topic.
    func mismatch(with topic: String?) -> String? {
        guard let topic, !Self.allows(topic, among: topics) else { return nil }
        let own = topics.joined(separator: ", ")
        return "The certificate \(name) is for \(own), not for \(topic): APNs will refuse the pushes."
    }
}
