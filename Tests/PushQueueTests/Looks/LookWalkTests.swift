import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct LookWalkTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    private let middle = Lane(app: 7, number: 1)

    private func look(_ walk: inout LookWalk, to end: Lane?, foundWork: Bool, after wait: Duration = .zero) -> Bool {
        walk.looked(from: walk.end, to: end, foundWork: foundWork, at: start + wait)
    }

    @Test func `looks are limited while there is work and for a second after it, and then whole`() {
        var walk = LookWalk()
        #expect(!walk.isLimited(at: start))
        #expect(look(&walk, to: nil, foundWork: true))
        #expect(walk.isLimited(at: start + .seconds(60)))
        #expect(look(&walk, to: nil, foundWork: false, after: .milliseconds(10)))
        #expect(walk.isLimited(at: start + .milliseconds(999)))
        #expect(!walk.isLimited(at: start + .milliseconds(1000)))
    }

    @Test func `a walk that has found work is limited to its end, and is not whole`() {
        var walk = LookWalk()
        #expect(look(&walk, to: nil, foundWork: true))
        #expect(look(&walk, to: nil, foundWork: false))
        #expect(!look(&walk, to: middle, foundWork: true))
        #expect(walk.end == middle && walk.isLimited(at: start + .seconds(60)))
        #expect(!look(&walk, to: nil, foundWork: false))
        #expect(walk.end == nil && walk.isLimited(at: start + .seconds(60)))
    }

    @Test func `when limited looks have found nothing anywhere, a whole one follows`() {
        var walk = LookWalk()
        #expect(look(&walk, to: nil, foundWork: true))
        for _ in 0..<3 { #expect(!look(&walk, to: middle, foundWork: false)) }
        #expect(!look(&walk, to: nil, foundWork: false))
        #expect(walk.end == nil && !walk.isLimited(at: start))
        #expect(look(&walk, to: nil, foundWork: false))
    }
}
