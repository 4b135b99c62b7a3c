enum AppleExtensions {
    static let sandbox = "1.2.840.113635.100.6.3.1"
    static let production = "1.2.840.113635.100.6.3.2"
    /// The topics that a certificate may push to: the current extension and its predecessor.
    static let topics = ["1.2.840.113635.100.6.3.6", "1.2.840.113635.100.6.3.4"]

    /// The value of a topics extension: a sequence in which each topic is followed by the sequence of its kinds.
    static func parseTopics(_ value: [UInt8]) -> [String] {
        guard let outer = DER.elements(of: value[...]).first, outer.tag == DER.sequence else { return [] }
        let inner = DER.elements(of: outer.content)
        let flat = inner.filter { $0.tag == DER.utf8String }
        // If Apple ever pairs each topic with its kinds in a sequence of its own, the topic is the first element.
        let chosen =
            flat.isEmpty
            ? inner.compactMap { DER.elements(of: $0.content).first { $0.tag == DER.utf8String } } : flat
        return chosen.map { String(decoding: $0.content, as: UTF8.self) }
    }

    static func topicsValue(_ topics: [String]) -> [UInt8] {
        let content = topics.flatMap { topic in
            let kind = ["voip", "complication"].first { topic.hasSuffix(".\($0)") } ?? "app"
            let kinds = DER.element(DER.sequence, DER.element(DER.utf8String, Array(kind.utf8)))
            return DER.element(DER.utf8String, Array(topic.utf8)) + kinds
        }
        return DER.element(DER.sequence, content)
    }
}
