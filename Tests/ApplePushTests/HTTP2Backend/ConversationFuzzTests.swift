import CarillonIO
import TestSupport
import Testing

@testable import ApplePush

@Suite struct ConversationFuzzTests {
    @Test func `every push ends once, whatever the gateway sends`() async throws {
        var delivered = 0
        var conversations = 0
        try await Fuzzing.seeds(120) { seed in
            let queue = DeliveryQueue(waitingTimeout: seed & 8 == 0 ? .seconds(1_000_000) : .seconds(30))
            let fuzz = try ConversationFuzz(seed: seed, queue)
            let terms = DeliveryTerms(returnAfter: seed & 6 == 0 ? .seconds(1) : nil)
            var returned: Delivered?
            queue.add(Delivery(1, batch(50 + Int(seed % 400)), terms, at: fuzz.now), onCancel: {}) { returned = $0 }
            try fuzz.run(600)
            let first = try #require(returned)
            // If a push ended twice, its delivery would end before its last push.
            let outcomes = await first.remainder?.outcomes() ?? first.outcomes
            let accepted = outcomes.count { $0.verdict == .accepted }
            #expect(!outcomes.contains { $0.verdict == .pending }, "seed \(seed)")
            #expect(queue.isEmpty && fuzz.forgotten == 0, "seed \(seed)")
            #expect(accepted <= fuzz.accepted, "seed \(seed)")
            delivered += accepted
            conversations += fuzz.conversations
        }
        #expect(delivered > 0 && conversations > 0)
    }
}
