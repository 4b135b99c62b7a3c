import CarillonText
import CarillonWeb

/// The time range of a chart.
enum PushCountSpan: String, CaseIterable, Sendable {
    case hour, day

    var seconds: Double { self == .hour ? 3_600 : 86_400 }
    /// Buckets of a day are as long as the sums that maintenance computes.
    var bucketSeconds: Double { self == .hour ? 60 : 1_200 }
    var text: String { self == .hour ? "the last hour" : "the last day" }

    init(_ request: Request) throws(RequestError) {
        guard let span = Self(rawValue: request.parameter("over") ?? Self.hour.rawValue) else {
            throw RequestError.badRequest("'over' is hour or day.")
        }
        self = span
    }

    /// Links to the charts of a page.
    func tabs(_ address: (_ over: String?) -> Link) -> HTML {
        HTML(.nav, .class("tabs"), Attribute(.ariaLabel, "Time")) {
            for one in Self.allCases {
                HTML(
                    .a,
                    .href(address(one == .hour ? nil : one.rawValue)),
                    Attribute(.ariaCurrent, one == self ? "true" : nil)
                ) { one.text.asSentence.filter { $0 != "." } }
            }
        }
    }
}
