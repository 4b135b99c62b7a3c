import CarillonWeb

/// How far back a page of failures looks.
enum FailureWindow: String, CaseIterable, Sendable {
    case hour = "1h"
    case day = "1d"
    case week = "7d"

    var seconds: Double {
        switch self {
        case .hour: 3_600
        case .day: 86_400
        case .week: 7 * 86_400
        }
    }

    init(_ request: Request) throws(RequestError) {
        guard let window = Self(rawValue: request.parameter("since") ?? Self.day.rawValue) else {
            throw RequestError.badRequest("'since' is 1h, 1d or 7d.")
        }
        self = window
    }

    var text: String {
        switch self {
        case .hour: "the last hour"
        case .day: "the last day"
        case .week: "the last 7 days"
        }
    }
}
