import ApplePush
import CarillonIO
import Testing

@testable import CarillonPushQueue

@Suite struct TopicRefusalEventsTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)

    private func refusals(_ name: String, pushes: Int = 1) throws -> [Settlement.TopicRefusal] {
        let reason = try #require(Reason(name: name))
        return [Settlement.TopicRefusal(reason: reason, status: 400, first: 0, pushes: pushes)]
    }

    @Test func `a refused topic is logged at once, and then every half minute with the number of pushes`() throws {
        var events = TopicRefusalEvents()
        let refusals = try self.refusals("TopicDisallowed", pushes: 3)
        #expect(events.settled(refusals, sent: 0, of: 1, at: start).map(\.pushes) == [3])
        #expect(events.settled(refusals, sent: 0, of: 1, at: start + .seconds(29)).isEmpty)
        #expect(events.settled(refusals, sent: 0, of: 1, at: start + .seconds(30)).map(\.pushes) == [6])
    }

    @Test func `each app and each reason is logged by itself`() throws {
        var events = TopicRefusalEvents()
        let disallowed = try refusals("TopicDisallowed")
        #expect(events.settled(disallowed, sent: 0, of: 1, at: start).count == 1)
        #expect(events.settled(disallowed, sent: 0, of: 2, at: start).count == 1)
        let both = try disallowed + refusals("MissingTopic")
        #expect(events.settled(both, sent: 0, of: 1, at: start).map(\.refusal.reason.name) == ["MissingTopic"])
    }

    @Test func `pushes that are sent meanwhile are counted, and old refusals are not`() throws {
        var events = TopicRefusalEvents()
        let refusals = try self.refusals("TopicDisallowed")
        #expect(events.settled(refusals, sent: 5, of: 1, at: start).map(\.sent) == [5])
        #expect(events.settled([], sent: 7, of: 1, at: start + .seconds(10)).isEmpty)
        #expect(events.settled(refusals, sent: 0, of: 1, at: start + .seconds(31)).map(\.sent) == [7])
        #expect(events.settled(refusals, sent: 0, of: 1, at: start + .seconds(32)).isEmpty)
        #expect(events.settled([], sent: 9, of: 1, at: start + .seconds(90)).isEmpty)
        let later = events.settled(refusals, sent: 0, of: 1, at: start + .seconds(91))
        #expect(later.map(\.pushes) == [1] && later.map(\.sent) == [0])
    }

    @Test func `tokens of another topic are logged only when there are many and no push is sent`() throws {
        var events = TopicRefusalEvents()
        let few = try refusals("DeviceTokenNotForTopic", pushes: 9)
        let one = try refusals("DeviceTokenNotForTopic")
        #expect(events.settled(few, sent: 0, of: 1, at: start).isEmpty)
        #expect(events.settled(one, sent: 1, of: 1, at: start).isEmpty)
        #expect(events.settled(few, sent: 0, of: 1, at: start).isEmpty)
        #expect(events.settled(one, sent: 0, of: 1, at: start).map(\.pushes) == [10])
    }
}
