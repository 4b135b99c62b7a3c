/// How many pushes may be in flight on a connection: a few until the credential is accepted. After that, each answer allows one
/// more, so that a gateway that soon closes the connection returns few pushes. If the previous connection was lost early, this
/// one first takes as many pushes as that one answered.
struct InFlightAllowance {
    /// How many pushes may be in flight before any has been answered.
    private static let first = 64
    /// How many pushes may always be in flight. Otherwise a push that is never answered would hold up all others.
    private static let few = 8

    private let acceptanceLimit: Int
    private let expectedAnswers: Int?
    /// Whether an answer has shown that the gateway accepts the credential.
    var isAccepted: Bool

    init(_ terms: ConversationTerms) {
        acceptanceLimit = terms.acceptanceLimit ?? 0
        expectedAnswers = terms.expectedAnswers
        isAccepted = terms.acceptanceLimit == nil
    }

    /// - Parameter opened: how many streams have been opened.
    func count(answered: Int, inFlight: Int, opened: Int) -> Int {
        guard isAccepted else { return acceptanceLimit }
        guard let expected = expectedAnswers else { return Self.first + answered }
        if answered >= expected { return Self.first + answered - expected }
        return min(Self.first + answered, max(Self.few, inFlight + expected - opened))
    }
}
