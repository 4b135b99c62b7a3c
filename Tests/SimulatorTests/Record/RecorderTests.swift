import FoundationEssentials
import Testing

@testable import ApplePushSimulator

@Suite struct RecorderTests {
    @Test func `made ids are UUIDs in upper case and differ`() {
        var maker = MessageIDMaker()
        var seen: Set<[UInt8]> = []
        for _ in 0..<1000 {
            var id: [UInt8] = []
            maker.append(to: &id)
            let lowercase = Array(String(decoding: id, as: UTF8.self).lowercased().utf8)
            let isCanonical = HeaderForm.isCanonicalUUID(lowercase.span)
            #expect(isCanonical)
            #expect(!id.contains { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 })
            seen.insert(id)
        }
        #expect(seen.count == 1000)
    }

    @Test func `a log line is JSON with the payload as it came`() throws {
        var writer = LogLine()
        var buffer: [UInt8] = []
        let id = Array("123e4567-e89b-12d3-a456-426614174000".utf8)
        let fields: KeyValuePairs = ["apns-push-type": "alert", "apns-priority": "10", "apns-expiration": "0"]
        let request = SampleRequest(fields).with(payload: "{\"a\":\"é\\\"\t\u{7F}\"}")
        let (head, bytes) = request.flat
        for status in [UInt16(200), 410] {
            let facts = LogLine.Facts(
                now: 1_700_000_000_000,
                connection: 7,
                stream: 3,
                status: status,
                reason: status == 200 ? nil : "Unregistered"
            )
            writer.append(facts, head: head, in: bytes.span, id: id.span, payload: request.payload.span, to: &buffer)
        }
        let lines = try RequestLine.all(in: buffer)
        #expect(lines.count == 2)
        #expect(lines.map(\.status) == [200, 410])
        #expect(lines.map(\.reason) == [nil, "Unregistered"])
        let first = try #require(lines.first)
        #expect(first.time == "2023-11-14T22:13:20.000Z")
        #expect(first.connection == 7)
        #expect(first.stream == 3)
        #expect(first.token == SampleRequest.token)
        #expect(first.topic == "com.example.app")
        #expect(first.priority == 10)
        #expect(first.expiration == 0)
        #expect(first.collapse_id == nil)
        #expect(first.bytes == request.payload.count)
        #expect(first.payload.map { Array($0.utf8) } == request.payload)
        #expect(first.sha256?.count == 64)
    }

    @Test func `a payload that is not UTF-8 still makes a line of JSON`() throws {
        var writer = LogLine()
        var buffer: [UInt8] = []
        let (head, bytes) = SampleRequest().flat
        let facts = LogLine.Facts(now: 0, connection: 1, stream: 1, status: 400, reason: "PayloadEmpty")
        let payload: [UInt8] = [0xFF, 0x00, 0xC3]
        let id: [UInt8] = []
        writer.append(facts, head: head, in: bytes.span, id: id.span, payload: payload.span, to: &buffer)
        #expect(try RequestLine.all(in: buffer).map(\.payload) == ["\u{FFFD}\u{0}\u{FFFD}"])
    }

    @Test func `counts add up in the statistics`() throws {
        let rules = [try AnswerRule(parsing: "aa=410"), try AnswerRule(parsing: "bb=silence")]
        var counters = Counters(rules: rules)
        counters.requestJudged(.accepted, payload: 10)
        counters.requestJudged(.accepted, payload: 10)
        counters.requestJudged(.refused(.badDeviceToken), payload: 5)
        counters.requestJudged(.ruled(0), payload: 1)
        counters.requestJudged(.ruled(1), payload: 1)
        let told = counters.statistics
        #expect(told.requests == 5)
        #expect(told.delivered == 2)
        #expect(told.refused == 2)
        #expect(told.unanswered == 1)
        #expect(told.byStatus == ["200": 2, "400": 1, "410": 1])
        #expect(told.byReason == ["BadDeviceToken": 1, "Unregistered": 1])
        #expect(told.payloadBytes == 27)
        let json = told.json
        #expect(
            json.hasPrefix(#"{"broadcasts":0,"by_reason":{"BadDeviceToken":1,"Unregistered":1},"by_status":{"200":2,"#)
        )
        let read = try JSONDecoder().decode(SimulatorStatistics.self, from: Data(json.utf8))
        #expect(read == told)
    }
}
