/// How an app fares, for whoever has to know.
struct Report: Sendable {
    /// What the row of a credential should say.
    struct Judgement: Sendable {
        let certificate: Int32
        /// Nil: as it was.
        let status: String?
        let error: String?
    }

    let event: WorkerEvent
    let judgement: Judgement?
}
