import Testing

@testable import CarillonIO

@Suite struct TimerHeapTests {
    private func instant(_ nanoseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds)
    }

    @Test func `timers come out by deadline, and in the order of setting where deadlines are equal`() {
        var heap = TimerHeap<String>()
        _ = heap.insert(at: instant(20), "c")
        _ = heap.insert(at: instant(10), "a")
        _ = heap.insert(at: instant(20), "d")
        _ = heap.insert(at: instant(10), "b")
        #expect(heap.earliest == instant(10))
        #expect(heap.popDue(at: instant(9)) == nil)
        var order: [String] = []
        while let next = heap.popDue(at: instant(20)) { order.append(next) }
        #expect(order == ["a", "b", "c", "d"])
        #expect(heap.earliest == nil)
    }

    @Test func `the token of a timer that has fired cancels nothing`() {
        var heap = TimerHeap<String>()
        let old = heap.insert(at: instant(1), "old")
        #expect(heap.popDue(at: instant(1)) == "old")
        _ = heap.insert(at: instant(2), "new")
        #expect(heap.remove(old) == nil)
        #expect(heap.popDue(at: instant(2)) == "new")
    }

    @Test func `a token from before all timers were removed cancels no later one`() {
        var heap = TimerHeap<String>()
        let tokens = (1...3).map { heap.insert(at: instant($0), "old") }
        #expect(heap.removeAll() == ["old", "old", "old"])
        let new = (1...4).map { heap.insert(at: instant($0), "new") }
        for token in tokens { #expect(heap.remove(token) == nil) }
        #expect(heap.count == 4)
        for token in new { #expect(heap.remove(token) == "new") }
    }

    @Test(arguments: [1, 2, 3, 4, 5] as [UInt64])
    func `a heap does what a sorted list does`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var heap = TimerHeap<Int>()
        var model: [(deadline: Int64, number: Int, token: TimerToken)] = []
        for number in 0..<3_000 {
            switch random.next() % 4 {
            case 0, 1:
                let deadline = Int64(random.next() % 500)
                model.append((deadline, number, heap.insert(at: instant(deadline), number)))
            case 2 where !model.isEmpty:
                let victim = model.remove(at: Int(random.next() % UInt64(model.count)))
                #expect(heap.remove(victim.token) == victim.number)
            default:
                let now = Int64(random.next() % 500)
                let due = model.indices.filter { model[$0].deadline <= now }
                let expected = due.min {
                    (model[$0].deadline, model[$0].number) < (model[$1].deadline, model[$1].number)
                }
                #expect(heap.popDue(at: instant(now)) == expected.map { model[$0].number })
                if let expected { model.remove(at: expected) }
            }
            #expect(heap.count == model.count)
            #expect(heap.earliest?.nanoseconds == model.map(\.deadline).min())
        }
    }
}
