/// A URL that every program reads alike: without a user, without a fragment, and with nothing but visible ASCII in it.
struct ServiceURL: Equatable, Sendable {
    private static let maxBytes = 8_192

    let text: String
    let isEncrypted: Bool
    /// Scheme, host and port.
    let origin: String
    /// Whether it says no more than that.
    let isOrigin: Bool

    init?(_ text: String) {
        guard text.utf8.count <= Self.maxBytes, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let match = text.wholeMatch(
                of: #/(https?)://([A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?([/?][!"$-~]*)?/#
            )
        else { return nil }
        self.text = text
        isEncrypted = match.output.1 == "https"
        let port = match.output.3.flatMap { Int($0) } ?? (isEncrypted ? 443 : 80)
        origin = "\(match.output.1)://\(match.output.2.lowercased()):\(port)"
        isOrigin = match.output.4 == nil || match.output.4 == "/"
    }
}
