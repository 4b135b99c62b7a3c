import ApplePush
import CarillonIO
import FoundationEssentials
import Testing

@testable import CarillonPushQueue

@Suite struct ChannelRulesTests {
    private func consequence(of error: ChannelError, isRemoval: Bool) throws -> ChannelRules.Consequence {
        let text =
            #"{"appID":1,"reference":"r","policy":0,"channelID":"QQ==","isRemoval":\#(isRemoval),"attempt":1}"#
        let task = try JSONDecoder().decode(ChannelTask.self, from: Data(text.utf8))
        var random = SeededGenerator(seed: 1)
        return ChannelRules.consequence(of: .failure(error), to: task, using: &random)
    }

    /// Apple's page has the first reason, its sandbox has answered with the second, and reads have the third.
    @Test(arguments: [(400, "ChannelNotRegistered"), (404, "BadPath"), (400, "BadChannelId")])
    func `a channel is removed if Apple no longer has it, whichever reason it gives`(status: Int, reason: String) throws
    {
        let error = ChannelError(status: status, reason: reason)
        #expect(try consequence(of: error, isRemoval: true) == .gone)
        #expect(try consequence(of: error, isRemoval: false) == .failed(error.message, again: nil, isUnknown: false))
    }

    @Test(arguments: ["FeatureNotEnabled", "BroadcastFeatureNotEnabled", "CannotCreateChannelConfig"])
    func `what Apple will never create is not asked for again, and a removal is`(reason: String) throws {
        let error = ChannelError(status: 400, reason: reason)
        #expect(try consequence(of: error, isRemoval: false) == .failed(error.message, again: nil, isUnknown: false))
        guard case .failed(_, let again, _) = try consequence(of: error, isRemoval: true) else {
            Issue.record("The removal did not fail.")
            return
        }
        #expect(again != nil)
    }
}
