/// What Apple writes into push certificates beyond the standard.
enum AppleExtensions {
    /// A certificate of the sandbox carries this.
    static let sandbox = "1.2.840.113635.100.6.3.1"
    /// A certificate of production carries this.
    static let production = "1.2.840.113635.100.6.3.2"
    /// The topics that a certificate may push to, in two ages of the same thing.
    static let topics = ["1.2.840.113635.100.6.3.6", "1.2.840.113635.100.6.3.4"]

    /// The value of a topics extension: a sequence in which each topic is followed by the sequence of its kinds.
    static func parseTopics(_ value: [UInt8]) -> [String] {
        guard let outer = DERReader.elements(of: value[...]).first, outer.tag == DERReader.sequence else { return [] }
        let inner = DERReader.elements(of: outer.content)
        let flat = inner.filter { $0.tag == DERReader.utf8String }
        // Should topics ever be paired with their kinds in sequences of their own, they are the first of each.
        let chosen =
            flat.isEmpty
            ? inner.compactMap { DERReader.elements(of: $0.content).first { $0.tag == DERReader.utf8String } } : flat
        return chosen.map { String(decoding: $0.content, as: UTF8.self) }
    }

    static func topicsValue(_ topics: [String]) -> [UInt8] {
        var content: [UInt8] = []
        for topic in topics {
            content += DERWriter.element(DERReader.utf8String, Array(topic.utf8))
            let kind = DERWriter.element(DERReader.utf8String, Array(self.kind(of: topic).utf8))
            content += DERWriter.element(DERReader.sequence, kind)
        }
        return DERWriter.element(DERReader.sequence, content)
    }

    private static func kind(of topic: String) -> String {
        ["voip", "complication"].first { topic.hasSuffix(".\($0)") } ?? "app"
    }
}
