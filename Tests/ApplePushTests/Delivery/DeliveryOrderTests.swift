import CarillonIO
import Testing

@testable import ApplePush

@Suite struct DeliveryOrderTests {
    private static let quantum = Int(DeliveryOrder.quanta[0])
    private static let levels = DeliveryOrder.quanta.count

    /// Takes pushes until the delivery of that number has had that many. Returns how many were taken in all.
    private func take(_ count: Int, of number: Int32, from order: inout DeliveryOrder) -> Int {
        var all = 0
        var own = 0
        while own < count, let first = order.first {
            order.took(1)
            all += 1
            if first == number { own += 1 }
        }
        return all
    }

    @Test func `taking a whole quantum at once is the same as taking one push at a time`() {
        var (one, other) = (DeliveryOrder(), DeliveryOrder())
        for number in 0..<3 {
            one.join(Int32(number))
            other.join(Int32(number))
        }
        var count = 0
        while count < 20_000 {
            #expect(one.first == other.first)
            let quantum = one.quantum
            #expect(quantum > 0)
            if quantum <= 0 { break }
            one.took(quantum)
            for _ in 0..<quantum { other.took(1) }
            count += quantum
        }
        #expect(DeliveryOrder().quantum == 0)
    }

    @Test func `a single push does not wait for a long delivery`() {
        var order = DeliveryOrder()
        order.join(0)
        for _ in 0..<20_000 { order.took(1) }
        order.join(1)
        #expect(take(1, of: 1, from: &order) <= Self.levels * Self.quantum)
    }

    @Test func `a single push does not wait for a hundred long deliveries either`() {
        var order = DeliveryOrder()
        for number in 0..<100 { order.join(Int32(number)) }
        for _ in 0..<100 * Self.quantum * 4 { order.took(1) }
        order.join(100)
        #expect(take(1, of: 100, from: &order) <= Self.levels * Self.quantum)
    }

    @Test func `endless single pushes do not stop a long delivery`() {
        var order = DeliveryOrder()
        order.join(0)
        for _ in 0..<1_000 { order.took(1) }
        var long = 0
        for number in 1...10_000 {
            order.join(1)
            // Another joins as soon as the previous one was taken.
            while let first = order.first {
                order.took(1)
                if first == 1 { break }
                long += 1
            }
            order.leave(1)
            #expect(long >= number - 2 * Self.quantum)
        }
    }

    @Test func `long deliveries share evenly`() {
        var order = DeliveryOrder()
        var taken = [0, 0, 0]
        for number in 0..<3 { order.join(Int32(number)) }
        let longest = Int(DeliveryOrder.quanta[2])
        for _ in 0..<3 * longest * 50 {
            taken[Int(order.first ?? 0)] += 1
            order.took(1)
        }
        #expect(taken.allSatisfy { abs($0 - 50 * longest) <= longest }, "\(taken)")
    }

    @Test func `deliveries of one size end one after the other, and not all last`() {
        var order = DeliveryOrder()
        var left = [1_000, 1_000, 1_000, 1_000, 1_000, 1_000]
        var ends: [Int] = []
        for number in left.indices { order.join(Int32(number)) }
        for count in 1...6_000 {
            let number = order.first ?? 0
            order.took(1)
            left[Int(number)] -= 1
            guard left[Int(number)] == 0 else { continue }
            order.leave(number)
            ends.append(count)
        }
        #expect(zip(ends, ends.dropFirst()).allSatisfy { $1 - $0 > 500 }, "\(ends)")
    }

    @Test func `a delivery whose pushes came back is next, for one quantum`() {
        var order = DeliveryOrder()
        for number in 0..<3 { order.join(Int32(number)) }
        for _ in 0..<Self.quantum * 7 { order.took(1) }
        order.leave(2)
        order.rejoin(2)
        #expect(take(1, of: 2, from: &order) <= Self.levels * Self.quantum)
        #expect(take(Self.quantum * 2, of: 2, from: &order) <= Self.quantum * 10 * Self.levels)
    }

    /// Deliveries of random lengths join and leave at random. Each one's wait is compared with the guarantee.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `no delivery is lost or waits for more than a quantum of each other, however they come and go`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var order = DeliveryOrder()
        var left: [Int32: Int] = [:]
        var sinceServed: [Int32: Int] = [:]
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<4:
                let number = Int32.random(in: 0..<40, using: &random)
                guard left[number] == nil else { continue }
                left[number] = Bool.random(using: &random) ? 1 : Int.random(in: 1...500, using: &random)
                sinceServed[number] = 0
                order.join(number)
            case 4:
                guard let number = left.keys.sorted().randomElement(using: &random) else { continue }
                left[number] = nil
                order.leave(number)
            default:
                guard let number = order.first else {
                    #expect(left.isEmpty, "seed \(seed)")
                    continue
                }
                #expect(left[number] != nil, "seed \(seed)")
                order.took(1)
                for other in left.keys { sinceServed[other, default: 0] += 1 }
                sinceServed[number] = 0
                left[number, default: 1] -= 1
                if left[number] == 0 {
                    left[number] = nil
                    order.leave(number)
                }
            }
            for (number, waited) in sinceServed where left[number] != nil {
                // A quantum of each of the others, on a level that gets a third of the pushes.
                #expect(
                    waited <= Self.levels * Int(DeliveryOrder.quanta[2]) * 40,
                    "seed \(seed): \(number) waited for \(waited)"
                )
            }
            let walked = Array(sequence(first: order.head, next: { $0.map { order.after($0) } }).prefix { $0 != nil })
            #expect(walked.count == left.count, "seed \(seed)")
        }
        while let number = order.first { order.leave(number) }
        #expect(order.head == nil)
    }
}
