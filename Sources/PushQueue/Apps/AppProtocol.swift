/// What an app speaks with its gateway.
package enum AppProtocol: String, CaseIterable, Decodable, Sendable {
    case http2
    /// Apple has switched it off; other gateways speak it.
    case binary
}
