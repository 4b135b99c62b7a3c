import CarillonHTTP2

/// The ends that only HTTP/2 has.
extension ConnectionEnd {
    static let exhausted = ours("exhausted", "it had used all its stream numbers")
    static let settingsMissing = fault("settings_missing", "the gateway sent no HTTP/2 settings in time")
    static let settingsUnacknowledged = fault(
        Name.unacknowledged,
        "the gateway did not acknowledge our HTTP/2 settings in time"
    )
    static let starved = Self("starved", .starved, "the gateway allowed no streams")
    static let windowClosed = Self("window_closed", .fault, "the gateway opened no HTTP/2 window for request bodies")

    static func goneAway(reason: String?) -> Self {
        Self("goaway", .goodbye, "the gateway sent GOAWAY" + (reason.map { ": \($0)" } ?? " without a reason"))
    }

    static func violated(_ what: String) -> Self { fault(Name.violated, "the gateway violated HTTP/2: \(what)") }

    static func flooded(_ what: String) -> Self { fault(Name.flooded, "the gateway sent too much: \(what)") }

    private static func fault(_ name: String, _ explanation: String) -> Self {
        Self(name, .fault, explanation, code: .notHTTP2)
    }

    init(_ error: HTTP2Error) {
        self =
            switch error.code {
            case .limitExceeded: .flooded(error.message)
            case .streamsExhausted: .exhausted
            default: .violated(error.message)
            }
    }

    /// The names of ends for which the GOAWAY frame has an error code of its own.
    private enum Name {
        static let flooded = "flooded"
        static let unacknowledged = "settings_unacknowledged"
        static let violated = "violated"
    }

    /// The error code for the GOAWAY frame.
    var errorCode: ErrorCode {
        switch name {
        case Name.flooded: .enhanceYourCalm
        case Name.unacknowledged: .settingsTimeout
        case Name.violated: .protocolError
        default: .noError
        }
    }
}
