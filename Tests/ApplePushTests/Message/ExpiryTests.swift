import ApplePush
import FoundationEssentials
import Testing

@Suite struct ExpiryTests {
    private func seconds(_ expiry: APNs.Expiry) -> Int64 { expiry.seconds }

    @Test func `a time is a date or seconds since 1970, of which once is 0`() {
        #expect(seconds(.once) == 0)
        #expect(APNs.Expiry.at(0) == .once)
        #expect(seconds(.at(1_700_000_000)) == 1_700_000_000)
        #expect(seconds(.at(Date(timeIntervalSince1970: 1_700_000_000.75))) == 1_700_000_000)
    }

    @Test func `an interval counts from now`() {
        let now = Int64(Date().timeIntervalSince1970)
        for expiry in [APNs.Expiry.after(.seconds(60)), .after(seconds: 60), .after(.milliseconds(60_900))] {
            #expect((now + 59...now + 90).contains(expiry.seconds))
        }
    }

    @Test func `a time beyond all numbers is the last one`() {
        #expect(seconds(.after(.seconds(Int64.max))) == .max)
        #expect(seconds(.after(seconds: .infinity)) == .max)
        #expect(seconds(.after(seconds: -.infinity)) < 0)
        #expect(seconds(.at(Date(timeIntervalSince1970: .infinity))) == .max)
    }

    @Test func `the expiry of a message can be set again`() throws {
        var message = try Message(tokens: [], expiry: .at(5))
        #expect(message.expiry == .at(5))
        message.expiry = .at(Date(timeIntervalSince1970: 9))
        #expect(message.expiration == 9)
        message.expiry = nil
        #expect(message.expiration == nil)
    }

    @Test func `priorities have their names and numbers`() throws {
        #expect([APNs.Priority.immediate, .conservesPower, .low] == [10, 5, 1])
        #expect(PushType.background.defaultPriority == .conservesPower)
        let text = #"{"tokens":[],"priority":5}"#
        #expect(try JSONDecoder().decode(Message.self, from: Data(text.utf8)).priority == .conservesPower)
    }
}
