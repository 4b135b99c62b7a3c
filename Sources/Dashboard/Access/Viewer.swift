/// Who asks, and what they may do.
struct Viewer: Sendable {
    /// As the trusted proxy says, or as the person said at the login; nil: not known.
    let name: String?
    let mayChange: Bool
    /// Whole device tokens, and what messages say.
    let seesContents: Bool
    /// How one who may only read gets the right to change something.
    let wayToChange: String
    /// What each form of the viewer carries, and no other site knows.
    let formToken: String
    /// The value of a cookie to set, with which the form token goes.
    var newCookie: String?
    var hasSession = false
    /// Whether there is a password to give.
    var canLogIn = false

    var tokens: TokenDisplay { TokenDisplay(isWhole: seesContents) }

    static let formField = "form_token"
}
