import CarillonIO
import TestSupport
import Testing

@testable import ApplePush

@Suite struct BinaryFuzzTests {
    @Test func `the outcome of each push is true, and no accepted push is sent again`() async throws {
        var delivered = 0
        var conversations = 0
        try await Fuzzing.seeds(300) { seed in
            let queue = DeliveryQueue(waitingTimeout: .seconds(1_000_000))
            let fuzz = BinaryFuzz(seed: seed, queue)
            var returned: Delivered?
            let count = 50 + Int(seed % 200)
            queue.add(Delivery(1, batch(count), DeliveryTerms(), at: fuzz.now), onCancel: {}) { returned = $0 }
            fuzz.run(400)
            let outcomes = try #require(returned, "seed \(seed)").outcomes
            for number in 0..<count {
                let accepted = fuzz.accepted[UInt32(number), default: 0]
                let isRefused = fuzz.refused.contains(UInt32(number))
                let isTrue =
                    switch outcomes[number].verdict {
                    case .accepted: accepted == 1
                    case .rejected: isRefused && accepted == 0
                    case .safe: accepted == 0
                    case .unknown: accepted <= 1
                    case .pending: false
                    }
                #expect(isTrue, "seed \(seed): \(number) is \(outcomes[number].verdict), accepted \(accepted) times")
            }
            #expect(queue.isEmpty, "seed \(seed)")
            delivered += outcomes.count { $0.verdict == .accepted }
            conversations += fuzz.conversations
        }
        #expect(delivered > 0 && conversations > 0)
    }
}
