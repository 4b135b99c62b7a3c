import CarillonText

extension MessageStatus {
    /// For example "1 sent, 2 failed".
    package var counts: String {
        let parts = ended.texts
        return (waiting > 0 ? parts + ["\(waiting.grouped) waiting"] : parts).joined(separator: ", ") + replaced
    }

    /// What has ended and was not sent, for example "2 failed, 1 expired".
    package var unsent: String { ended.unsentTexts.joined(separator: ", ") + replaced }

    private var replaced: String {
        wasSuperseded ? " (a newer push replaced \(ended.cancelled == 1 ? "it" : "them"))" : ""
    }
}
