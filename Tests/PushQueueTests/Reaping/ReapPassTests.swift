import Testing

@testable import CarillonPushQueue

@Suite struct ReapPassTests {
    private static func batch(_ state: ReapBatch.State, deleted: Int = 0, faults: [String] = []) -> ReapBatch {
        ReapBatch(state: state, next: "(,1,2)", app: "shop", handled: deleted, deleted: deleted, faults: faults)
    }

    @Test func `the wait after a batch is longer than the batch, up to a limit`() {
        var pass = ReapPass()
        #expect(pass.returned(Self.batch(.more), after: .milliseconds(10)) == .milliseconds(40))
        #expect(pass.returned(Self.batch(.more), after: .seconds(60)) == ReapPass.longestWait)
        #expect(pass.returned(Self.batch(.busy), after: .zero) == ReapPass.waitForOthers)
        #expect(!pass.tally.isComplete)
        #expect(pass.returned(Self.batch(.over), after: .zero) == nil)
        #expect(pass.tally.isComplete)
    }

    @Test func `a pass counts deleted tokens by app, and each fault once`() {
        var pass = ReapPass()
        for _ in 0..<2 { _ = pass.returned(Self.batch(.more, deleted: 5, faults: ["devices: no"]), after: .zero) }
        #expect(pass.tally.deleted == ["shop": 10])
        #expect(pass.tally.total == 10 && pass.tally.handled == 10)
        #expect(pass.tally.faults == ["devices: no"])
    }
}
