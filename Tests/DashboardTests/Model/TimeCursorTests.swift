import CarillonWeb
import Testing

@testable import CarillonDashboard

@Suite struct TimeCursorTests {
    private static func next(_ times: [Int64], of start: TimeCursor? = nil) -> TimeCursor? {
        TimeCursor(behind: times, of: start, .newestFirst)
    }

    @Test func `the next page continues within the rows of one time`() {
        #expect(Self.next([]) == nil)
        #expect(Self.next([9, 8, 7]) == TimeCursor(time: 7, shown: 1))
        #expect(Self.next([9, 7, 7]) == TimeCursor(time: 7, shown: 2))
        #expect(Self.next([7, 7, 7], of: TimeCursor(time: 7, shown: 2)) == TimeCursor(time: 7, shown: 5))
        #expect(Self.next([7, 7, 6], of: TimeCursor(time: 7, shown: 5)) == TimeCursor(time: 6, shown: 1))
    }

    @Test func `of too many rows of one time the rest is left out, and what follows is not`() {
        let full = TimeCursor(time: 7, shown: TimeCursor.maxShown)
        #expect(Self.next([7], of: full) == TimeCursor(time: 6, shown: 0))
        #expect(TimeCursor(behind: [7], of: full, .oldestFirst) == TimeCursor(time: 8, shown: 0))
        #expect(Self.next([7], of: TimeCursor(time: 7, shown: TimeCursor.maxShown - 1)) == full)
    }

    @Test func `a link has the place, and only what a link can have is read`() throws {
        func place(_ query: (String, String)...) throws -> TimeCursor? {
            let request = Request(method: "GET", path: "/", query: query.map { (name: $0.0, value: $0.1) })
            return try TimeCursor(request, "before", from: "older")
        }
        #expect(try place() == nil)
        #expect(try place(("before", "7")) == TimeCursor(time: 7, shown: 0))
        #expect(try place(("before", "7"), ("shown", "3")) == TimeCursor(time: 7, shown: 3))
        #expect(
            TimeCursor(time: 7, shown: 3).added(to: Link("failures"), "before").text == "/failures?before=7&shown=3"
        )
        #expect(TimeCursor(time: 7, shown: 0).added(to: Link("failures"), "before").text == "/failures?before=7")
        let wrong = [("x", "0"), ("-1", "0"), ("99999999999999999999", "0"), ("7", "-1"), ("7", "1001"), ("7", "x")]
        for (time, shown) in wrong {
            #expect(throws: PageError.self) { try place(("before", time), ("shown", shown)) }
        }
    }
}
