/// How an app fares, for whoever has to know.
struct Report: Sendable {
    /// What the row of a credential should say.
    struct Judgement: Sendable {
        let certificate: Int32
        /// Nil: as it was.
        let status: String?
        let error: String?
        /// No provider token is to be minted for a while.
        var restsTokens = false
    }

    let event: WorkerEvent
    let judgement: Judgement?
}
