import Testing

@testable import CarillonPushQueue

@Suite struct LookWalkTests {
    private let middle = Lane(app: 7, number: 1)

    private func look(_ walk: inout LookWalk, to end: Lane?, foundWork: Bool) -> Bool {
        walk.looked(from: walk.end, to: end, foundWork: foundWork)
    }

    @Test func `looks are limited while each of them walks over all lanes, whether they find work or not`() {
        var walk = LookWalk()
        for foundWork in [false, true, false, false] {
            #expect(walk.isLimited)
            #expect(look(&walk, to: nil, foundWork: foundWork))
            #expect(walk.end == nil && walk.turn == nil)
        }
        #expect(walk.isLimited)
    }

    @Test func `a walk that has found work is limited to its end, and so is the next one`() {
        var walk = LookWalk()
        #expect(look(&walk, to: nil, foundWork: true))
        #expect(look(&walk, to: nil, foundWork: false))
        #expect(!look(&walk, to: middle, foundWork: true))
        #expect(walk.end == middle && walk.isLimited && walk.turn != nil)
        #expect(!look(&walk, to: nil, foundWork: false))
        #expect(walk.end == nil && walk.isLimited)
    }

    @Test func `when limited looks have found nothing anywhere, a whole one follows`() {
        var walk = LookWalk()
        #expect(look(&walk, to: nil, foundWork: true))
        for _ in 0..<3 {
            #expect(!look(&walk, to: middle, foundWork: false))
            #expect(walk.isLimited)
        }
        #expect(!look(&walk, to: nil, foundWork: false))
        #expect(walk.end == nil && !walk.isLimited)
        #expect(look(&walk, to: nil, foundWork: false))
    }

    @Test func `after a walk in parts that has found nothing, looks are whole until there is work again`() {
        var walk = LookWalk()
        #expect(!look(&walk, to: middle, foundWork: false))
        #expect(walk.isLimited)
        #expect(!look(&walk, to: nil, foundWork: false))
        for _ in 0..<3 {
            #expect(!walk.isLimited)
            #expect(look(&walk, to: nil, foundWork: false))
        }
        #expect(look(&walk, to: nil, foundWork: true))
        #expect(walk.isLimited)
    }
}
