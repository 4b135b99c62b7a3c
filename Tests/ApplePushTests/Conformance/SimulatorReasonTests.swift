import ApplePush
import Testing

@testable import ApplePushSimulator

/// The reasons of the simulator and those of the library are the same, since both are Apple's.
@Suite struct SimulatorReasonTests {
    @Test func `a rule of the simulator may give each reason that the library knows, without a warning`() throws {
        for (reason, status) in Reason.all {
            let rule = try AnswerRule(prefix: "*", status: status, reason: reason.name)
            #expect(rule.oddity == nil, "\(reason.name ?? "")")
        }
    }

    @Test func `the library knows each reason for which the simulator refuses, with its status`() {
        let known = Set(Reason.all.map { "\($0.status) \($0.reason.name ?? "")" })
        for refusal in APNsRefusal.allCases {
            guard let reason = refusal.reason else { continue }
            #expect(known.contains("\(refusal.status) \(reason)"), "\(refusal)")
        }
    }
}
