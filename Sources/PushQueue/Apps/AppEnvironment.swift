/// The environment of Apple's that an app sends to.
package enum AppEnvironment: String, CaseIterable, Decodable, Sendable {
    case production
    case sandbox
}
