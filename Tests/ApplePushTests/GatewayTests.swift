import ApplePush
import Testing

@Suite struct GatewayTests {
    @Test func `an address is read and written`() throws {
        let gateway = try Gateway("localhost:2197")
        #expect(gateway.host == "localhost")
        #expect(gateway.port == 2197)
        #expect(gateway.description == "localhost:2197")
        #expect(try Gateway("[::1]:443").host == "::1")
        #expect(try Gateway("[::1]:443").description == "[::1]:443")
    }

    @Test(arguments: [
        "", "localhost", "localhost:", ":443", "localhost:0", "localhost:65536", "localhost:http", "[]:1",
    ])
    func `an invalid address is an error with a sentence`(text: String) {
        let error = #expect(throws: PushError.self) { try Gateway(text) }
        #expect(error?.code == .invalidGateway)
        #expect(error?.message.contains("host:port") == true)
    }

    @Test func `Apple's gateways have their names`() {
        #expect(Gateway.production.description == "api.push.apple.com:443")
        #expect(Gateway.sandbox.description == "api.sandbox.push.apple.com:443")
        #expect(Gateway.productionOnPort2197.port == 2197)
        #expect(Gateway.sandboxOnPort2197.port == 2197)
    }
}
