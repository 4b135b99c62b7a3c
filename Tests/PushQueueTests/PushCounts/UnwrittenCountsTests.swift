import CarillonPostgres
import Testing

@testable import CarillonPushQueue

@Suite struct UnwrittenCountsTests {
    @Test func `the counts of many apps are written by several statements, each app's once`() {
        let apps = UnwrittenCounts.maxApps * 2 + 88
        var counts = UnwrittenCounts()
        for app in 1...apps { counts.add(Settlement.Tally(sent: app), of: Int32(app)) }
        var sizes: [Int] = []
        var sent: [Int32: Int] = [:]
        repeat {
            let taken = counts.take()
            sizes.append(taken.count)
            for (app, tally) in taken { sent[app, default: 0] += tally.sent }
        } while sizes.last == UnwrittenCounts.maxApps
        #expect(sizes == [UnwrittenCounts.maxApps, UnwrittenCounts.maxApps, 88])
        #expect(sent.count == apps && sent.allSatisfy { app, pushes in pushes == Int(app) })
        #expect(counts.take().isEmpty)
    }

    @Test func `counts that could not be written are written with those that were not taken`() {
        var counts = UnwrittenCounts()
        for app in 1...UnwrittenCounts.maxApps + 1 { counts.add(Settlement.Tally(sent: 1), of: Int32(app)) }
        let refused = counts.take()
        counts.failed(refused, .nothingDone)
        let sizes = [counts.take().count, counts.take().count]
        #expect(sizes == [UnwrittenCounts.maxApps, 1])
    }
}
