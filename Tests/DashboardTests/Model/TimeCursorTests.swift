import CarillonPostgres
import CarillonWeb
import Testing

@testable import CarillonDashboard

@Suite struct TimeCursorTests {
    private static func next(_ times: [Int64], of start: TimeCursor? = nil) -> TimeCursor? {
        TimeCursor(behind: times.map { Moment($0) }, of: start, .newestFirst)
    }

    private static func cursor(_ time: Int64, shown: Int64) -> TimeCursor {
        TimeCursor(time: Moment(time), shown: shown)
    }

    @Test func `the next page continues within the rows of one time`() {
        #expect(Self.next([]) == nil)
        #expect(Self.next([9, 8, 7]) == Self.cursor(7, shown: 1))
        #expect(Self.next([9, 7, 7]) == Self.cursor(7, shown: 2))
        #expect(Self.next([7, 7, 7], of: Self.cursor(7, shown: 2)) == Self.cursor(7, shown: 5))
        #expect(Self.next([7, 7, 6], of: Self.cursor(7, shown: 5)) == Self.cursor(6, shown: 1))
    }

    @Test func `of too many rows of one time the rest is left out, and what follows is not`() {
        let full = Self.cursor(7, shown: TimeCursor.maxShown)
        #expect(Self.next([7], of: full) == Self.cursor(6, shown: 0))
        #expect(TimeCursor(behind: [Moment(7)], of: full, .oldestFirst) == Self.cursor(8, shown: 0))
        #expect(Self.next([7], of: Self.cursor(7, shown: TimeCursor.maxShown - 1)) == full)
    }

    @Test func `a link has the place, and only what a link can have is read`() throws {
        func place(_ query: (String, String)...) throws -> TimeCursor? {
            let request = Request(method: "GET", path: "/", query: query.map { (name: $0.0, value: $0.1) })
            return try TimeCursor(request, "before", from: "older")
        }
        #expect(try place() == nil)
        #expect(try place(("before", "7")) == Self.cursor(7, shown: 0))
        #expect(try place(("before", "7"), ("shown", "3")) == Self.cursor(7, shown: 3))
        #expect(
            Self.cursor(7, shown: 3).added(to: Link("failures"), "before").text == "/failures?before=7&shown=3"
        )
        #expect(Self.cursor(7, shown: 0).added(to: Link("failures"), "before").text == "/failures?before=7")
        let wrong = [("x", "0"), ("-1", "0"), ("99999999999999999999", "0"), ("7", "-1"), ("7", "1001"), ("7", "x")]
        for (time, shown) in wrong {
            #expect(throws: RequestError.self) { try place(("before", time), ("shown", shown)) }
        }
    }
}
