import CarillonIO

/// What a new connection starts with.
struct ConversationTerms {
    /// How many pushes may be in flight until the gateway has accepted the credential; nil: it has.
    var acceptanceLimit: Int?
    var authorization: Authorization?
    /// How many answers the previous connection gave before it was lost, if that was early in its life.
    var expectedAnswers: Int?
}
