import CarillonText

extension EndedPushes {
    /// For example "1 sent" and "2 failed".
    package var texts: [String] { ["\(sent.grouped) sent"] + unsentTexts }

    /// Those that were not sent, for example "2 failed"; without zeros.
    package var unsentTexts: [String] {
        [(failed, "failed"), (expired, "expired"), (cancelled, "cancelled")].filter { $0.0 > 0 }.map {
            "\($0.grouped) \($1)"
        }
    }
}
