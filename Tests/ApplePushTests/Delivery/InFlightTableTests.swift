import CarillonIO
import Testing

@testable import ApplePush

@Suite struct InFlightTableTests {
    private let start = MonotonicInstant(nanoseconds: 0)

    private func push(_ number: Int) -> QueuedPush {
        QueuedPush(delivery: Int32(number % 3), position: Int32(number))
    }

    @Test func `the oldest push is known in whatever order pushes end`() {
        var table = InFlightTable()
        let tags = (0..<5).map { table.insert(push($0), at: start + .seconds($0)) }
        #expect(table.oldest?.tag == tags[0])
        #expect(table.remove(tags[2]) == push(2))
        #expect(table.oldest?.tag == tags[0])
        #expect(table.remove(tags[0]) == push(0))
        #expect(table.oldest?.tag == tags[1])
        #expect(table.oldest?.since == start + .seconds(1))
        #expect(table.remove(tags[4]) == push(4))
        #expect(table.remove(tags[1]) == push(1))
        #expect(table.remove(tags[3]) == push(3))
        let again = tags.map { table.remove($0) }
        #expect(again.allSatisfy { $0 == nil })
        #expect(table.oldest == nil)
        #expect(table.count == 0)
    }

    @Test func `a push whose time limit begins again is the youngest`() {
        var table = InFlightTable()
        let tags = (0..<3).map { table.insert(push($0), at: start) }
        table.restart(tags[0], at: start + .seconds(5))
        table.restart(tags[1], at: start + .seconds(6))
        #expect(table.tags == [tags[2], tags[0], tags[1]])
        #expect(table.since(tags[1]) == start + .seconds(6))
        let moves = [10, 10, 11].map { table.hasMoved(tags[0], to: $0) }
        #expect(moves == [true, false, true])
        _ = table.remove(tags[0])
        table.restart(tags[0], at: start + .seconds(7))
        #expect(table.tags == [tags[2], tags[1]] && table.count == 2)
    }

    @Test func `a tag is used again once its push has ended`() {
        var table = InFlightTable()
        let first = table.insert(push(0), at: start)
        _ = table.remove(first)
        #expect(table.insert(push(1), at: start) == first)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `any order of inserting and removing keeps the pushes in order`(seed: UInt64) {
        var state = seed
        func roll(_ sides: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % sides
        }
        var table = InFlightTable()
        var model: [(tag: UInt32, number: Int)] = []
        for number in 0..<5000 {
            if model.isEmpty || roll(2) == 0 {
                model.append((table.insert(push(number), at: start + .nanoseconds(Int64(number))), number))
            } else {
                let (tag, number) = model.remove(at: roll(model.count))
                #expect(table.remove(tag) == push(number))
            }
            #expect(table.count == model.count)
            #expect(table.oldest?.tag == model.first?.tag)
        }
    }
}
