import ApplePush
import FoundationEssentials
import Testing

@Suite struct JSONTests {
    private func read(_ text: String) throws -> APNs.JSON {
        try JSONDecoder().decode(APNs.JSON.self, from: Data(text.utf8))
    }

    @Test(arguments: [
        "null", "true", "0", "-9223372036854775808", "18446744073709551615", "0.1", "1234567890123456789.01", "1e+300",
        "5e-324", "\"Grüße/\"", "[1,[],{}]", #"{"a":{"b":[null,1.5]},"c":"d"}"#,
    ])
    func `numbers are written with the digits that were read`(text: String) throws {
        let value = try read(text)
        #expect(value.description == text)
        #expect(try read(value.description) == value)
        #expect(try APNs.JSON(encoding: value) == value)
    }

    @Test func `numbers are equal by value`() throws {
        let ones: [APNs.JSON] = [1, 1.0, .decimal(1), try read("1.0"), try read("1e0")]
        for one in ones {
            #expect(one == 1)
            #expect(one.hashValue == APNs.JSON.integer(1).hashValue)
            #expect(one != 2)
            #expect(one != true)
            #expect(one != "1")
        }
        #expect(APNs.JSON.decimal(try #require(Decimal(string: "0.1"))) == 0.1)
        #expect(try read("18446744073709551615") != read("18446744073709551614"))
        #expect(APNs.JSON.array([1, .object(["a": 2.0])]) == [1.0, ["a": 2]])
        #expect(APNs.JSON.null != 0)
    }

    @Test func `a number that JSON cannot represent has a description too`() {
        #expect(APNs.JSON.number(.nan).description.contains("cannot"))
    }
}
