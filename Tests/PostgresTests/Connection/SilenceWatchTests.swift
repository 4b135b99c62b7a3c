import CarillonPostgres
import Testing

@Suite struct SilenceWatchTests {
    private func steps(_ watch: inout SilenceWatch, _ looks: Int, arrivals: Int) -> [SilenceWatch.Step] {
        (0..<looks).map { _ in watch.looked(arrivals: arrivals, isWaiting: true) }
    }

    @Test func `a server that answers nothing is probed, and then left`() {
        var watch = SilenceWatch()
        let steps = steps(&watch, 1 + SilenceWatch.looks, arrivals: 7)
        #expect(steps.prefix(3).allSatisfy { $0 == .wait })
        #expect(steps.dropLast().contains(.probe))
        #expect(!steps.dropLast().contains(.leave))
        #expect(steps.last == .leave)
    }

    @Test func `one answer is enough to stay, and so is having nothing to answer`() {
        var watch = SilenceWatch()
        _ = steps(&watch, SilenceWatch.looks, arrivals: 7)
        #expect(watch.looked(arrivals: 8, isWaiting: true) == .wait)
        #expect(!steps(&watch, SilenceWatch.looks - 1, arrivals: 8).contains(.leave))
        #expect(watch.looked(arrivals: 8, isWaiting: false) == .wait)
        #expect(!steps(&watch, SilenceWatch.looks - 1, arrivals: 8).contains(.leave))
    }
}
