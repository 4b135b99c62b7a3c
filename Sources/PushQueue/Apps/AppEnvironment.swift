/// The environment of Apple's that an app sends to.
package enum AppEnvironment: String, CaseIterable, Sendable {
    case production
    case sandbox
}
