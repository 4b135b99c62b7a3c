import ApplePush
import FoundationEssentials
import Testing

@Suite struct UserDataTests {
    private struct Order: Encodable {
        var id = UInt64.max
        var number = Int64.min
        var price = Decimal(string: "1234567890123456789.01")
        var weight = 0.1
        var at = Date(timeIntervalSince1970: 1_700_000_000.5)
        var data = Data([1, 2])
        var note: String?
        var nested: [Int?]?? = [1, nil]
    }

    @Test func `a value stands beside aps, with all its digits`() throws {
        let message = try Message(tokens: ["a1"], alert: "Hello", extra: ["kitchen": "east"], userData: Order())
        #expect(
            String(decoding: try message.payloadBytes(), as: UTF8.self)
                == #"{"aps":{"alert":"Hello"},"at":1700000000.5,"data":"AQI=","id":18446744073709551615,"#
                + #""kitchen":"east","nested":[1,null],"number":-9223372036854775808,"#
                + #""price":1234567890123456789.01,"weight":0.1}"#
        )
        let copy = try JSONDecoder().decode(Message.self, from: JSONEncoder().encode(message))
        #expect(copy == message)
        #expect(try copy.payloadBytes() == message.payloadBytes())
    }

    @Test func `no value is nothing, however many optionals it is in`() throws {
        let order: Order?? = .some(nil)
        #expect(try Message(tokens: [], extra: ["a": 1], userData: order as (any Encodable)?).extra == ["a": 1])
        #expect(try Message(tokens: [], userData: nil).extra == [:])
    }

    @Test func `a value that is no object is an error`() {
        for value in [[1, 2], "text", 7] as [any Encodable] {
            let error = #expect(throws: PushError.self) { try Message(tokens: [], userData: value) }
            #expect(error?.code == .invalidMessage)
            #expect(error?.message.contains("userData") == true)
        }
    }

    @Test func `a value may not name aps, nor what extra names`() {
        let aps = #expect(throws: PushError.self) { try Message(tokens: [], userData: ["aps": 1]) }
        #expect(aps?.message.contains("“aps”") == true)
        let twice = #expect(throws: PushError.self) {
            try Message(tokens: [], extra: ["table": 7], userData: ["table": 8])
        }
        #expect(twice?.message.contains("“table”") == true)
    }

    @Test func `a number that JSON cannot represent is an error that says where it is`() {
        struct Sample: Encodable { let weights = [1, Double.nan] }
        let error = #expect(throws: PushError.self) { try Message(tokens: [], userData: Sample()) }
        #expect(error?.message.contains("weights") == true, "\(error as Any)")
        #expect(throws: PushError.self) { try APNs.JSON(encoding: ["a": Decimal.nan]) }
        for value in [APNs.JSON.number(.nan), .number(.infinity), .decimal(.nan)] {
            #expect(throws: PushError.self) { try Message(tokens: [], extra: ["a": value]).payloadBytes() }
        }
    }
}
