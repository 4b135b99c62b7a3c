import CarillonIO
import Testing

@testable import CarillonWeb

@Suite struct ConnectionTableTests {
    private static let start = MonotonicInstant.now

    private func at(_ seconds: Int) -> MonotonicInstant { Self.start + .seconds(seconds) }

    /// With a limit of 4, the fourth connection is one too many.
    private func table(_ serve: Set<Int> = []) -> ConnectionTable {
        var table = ConnectionTable(limit: 4)
        for id in 1...3 {
            #expect(table.opened(UInt(id), at: at(id)) == .enough)
            if serve.contains(id) { #expect(table.ended(UInt(id), at: at(id + 10)) == .enough) }
        }
        return table
    }

    @Test func `the connection that was idle longest is closed, and nothing more that comes on it is done`() {
        var table = table()
        table.received(1, at: at(9))
        #expect(table.opened(4, at: at(10)) == .closing(2))
        #expect(table.isDismissed(2) && !table.isDismissed(1))
        table.closed(2)
        #expect(table.opened(5, at: at(11)) == .closing(3))
    }

    @Test func `connections that were served are closed first, since their clients must expect that`() {
        var table = table([2, 3])
        #expect(table.opened(4, at: at(20)) == .closing(2))
        #expect(table.opened(5, at: at(21)) == .closing(3))
        #expect(table.opened(6, at: at(22)) == .closing(1))
    }

    @Test func `no connection with a request under way is closed, and there is room when one has ended`() {
        var table = table()
        for id in 1...3 { table.began(UInt(id)) }
        #expect(table.opened(4, at: at(5)) == .none)
        table.began(4)
        #expect(table.ended(2, at: at(6)) == .closing(2))
        table.closed(2)
        #expect(table.ended(3, at: at(7)) == .enough)
    }
}
