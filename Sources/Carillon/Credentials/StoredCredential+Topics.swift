import PushQueue

extension StoredCredential {
    /// Whether a push to the topic, or to one that Apple derives from it, may be sent with it. Where it does not say, it
    /// may.
    func allows(_ topic: String) -> Bool { Self.allows(topic, among: topics) }

    /// A sentence when APNs will refuse pushes to the topic.
    func mismatch(with topic: String?) -> String? {
        guard let topic, !allows(topic) else { return nil }
        let own = topics.joined(separator: ", ")
        return "The certificate \(name) is for \(own), not for \(topic): APNs will refuse the pushes."
    }

    static func allows(_ topic: String, among topics: [String]) -> Bool {
        topics.isEmpty || topics.contains { topic == $0 || topic.hasPrefix($0 + ".") }
    }
}
