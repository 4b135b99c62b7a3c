import CarillonTLS

/// A secret that a webhook and its receiver share, and the signatures that Standard Webhooks makes with it
/// (https://www.standardwebhooks.com, version 1, symmetric).
package struct WebhookSecret: Sendable {
    private static let prefix = "whsec_"

    private let key: [UInt8]

    /// Nil if the text is not a secret.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let key = Base64.decode(text.dropFirst(Self.prefix.count)), !key.isEmpty
        else { return nil }
        self.key = key
    }

    /// - Parameter timestamp: in seconds since 1970.
    package func signature(of body: [UInt8], id: String, timestamp: Int64) -> String {
        "v1," + Base64.encode(HMAC.sha256(Array("\(id).\(timestamp).".utf8) + body, key: key))
    }

    /// The headers of a request. While a secret is being replaced, it has a signature of each.
    package static func headers(
        _ secrets: [WebhookSecret],
        body: [UInt8],
        id: String,
        timestamp: Int64
    ) -> [(name: String, value: String)] {
        let signatures = secrets.map { $0.signature(of: body, id: id, timestamp: timestamp) }
        return [
            ("webhook-id", id), ("webhook-timestamp", String(timestamp)),
            ("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
