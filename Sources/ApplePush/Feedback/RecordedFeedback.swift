/// A list that was given, all of it at once.
actor RecordedFeedback: FeedbackSource {
    private var reports: [Feedback]?
    let failure: PushError? = nil

    init(_ reports: [Feedback]) { self.reports = reports.isEmpty ? nil : reports }

    func nextPiece() -> [Feedback]? { reports.take() }
}
