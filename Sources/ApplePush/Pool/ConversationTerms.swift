/// The initial terms of a new connection.
struct ConversationTerms {
    /// How many pushes may be in flight until the gateway has accepted the credential; nil if it already has.
    var acceptanceLimit: Int?
    var authorization: Authorization?
    /// How many answers the previous connection gave before it was lost, if it was lost early.
    var expectedAnswers: Int?
}
