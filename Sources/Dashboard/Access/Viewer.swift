/// Who sent a request, and what they may do.
struct Viewer: Sendable {
    /// The name from the trusted proxy or from the login; nil if unknown.
    let name: String?
    let mayChange: Bool
    /// Whether the viewer may see whole device tokens and the content of messages.
    let seesContents: Bool
    /// How a viewer who may only read can get the right to change something.
    let wayToChange: String
    /// A token that each of the viewer's forms contains and that no other site knows.
    let formToken: String
    /// The value of a cookie to set, on which the form token depends.
    var newCookie: String?
    var hasSession = false
    /// Whether the viewer could log in with a password.
    var canLogIn = false

    var tokens: TokenDisplay { TokenDisplay(isWhole: seesContents) }

    static let formField = "form_token"
}
