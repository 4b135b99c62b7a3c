import CarillonPostgres
import CarillonWeb

/// Where a page of rows in order of time begins. Rows that were written together have the same time, and may fill several pages.
struct TimeCursor: Sendable, Equatable {
    enum Order: Int64, Sendable {
        case newestFirst = -1
        case oldestFirst = 1
    }

    /// The maximum number of rows of one time that are shown: each page reads the earlier ones again.
    static let maxShown: Int64 = 1_000
    private static let times: ClosedRange<Int64> = 0...4_102_444_800_000_000
    private static let shownParameter = "shown"

    /// The page includes rows of this time.
    let time: Moment
    /// How many rows of exactly this time were on earlier pages.
    let shown: Int64

    func added(to link: Link, _ name: String) -> Link {
        link.with(name, String(time.microseconds)).with(Self.shownParameter, shown == 0 ? nil : String(shown))
    }
}

extension TimeCursor {
    /// Nil for the first page.
    ///
    /// - Parameters:
    ///   - name: the query parameter with the time.
    ///   - next: the member of a page that holds the address of the next one.
    init?(_ request: Request, _ name: String, from next: String) throws {
        guard let text = request.parameter(name) else { return nil }
        let count = request.parameter(Self.shownParameter) ?? "0"
        guard let time = Int64(text), Self.times.contains(time), let shown = Int64(count),
            (0...Self.maxShown).contains(shown)
        else {
            throw RequestError.badRequest(
                "'\(name)' is a time in microseconds since 1970, and 'shown' a number up to \(Self.maxShown), as in "
                    + "'\(next)' of the page before."
            )
        }
        self.init(time: Moment(time), shown: shown)
    }

    /// The place after a page whose rows have these times; nil if the page has no rows.
    init?(behind times: [Moment], of start: TimeCursor?, _ order: Order) {
        guard let last = times.last else { return nil }
        let here = Int64(times.reversed().prefix { $0 == last }.count)
        let shown = here + (start?.time == last ? start?.shown ?? 0 : 0)
        if shown <= Self.maxShown {
            self.init(time: last, shown: shown)
        } else {
            self.init(time: Moment(last.microseconds + order.rawValue), shown: 0)
        }
    }
}
