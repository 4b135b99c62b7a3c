import Testing

/// The search for secrets finds each of them, and nothing else.
@Suite struct SecrecyTests {
    @Test(arguments: [
        Scene.token("", 1), String(repeating: "aZ0+", count: 16), "eyJ" + String(repeating: "_-", count: 40),
    ])
    func `a secret in a log line is found`(secret: String) {
        let log = #"{"message":"fine"}"# + "\n" + #"{"message":"sent to \#(secret)."}"# + "\n"
        #expect(Secrecy.breaches(in: log) == [secret])
    }

    @Test func `a payload in a log line is found`() {
        #expect(Secrecy.breaches(in: #"{"message":"{\"aps\":{\"alert\":\"Board\"}}"}"#) == ["a payload"])
    }

    @Test func `the ends of a device token, an apns-id and the lines of a backtrace are no secrets`() {
        let log = #"{"token":"0000…0001","apns_id":"8f6bb4ce-6d3e-4a5f-9c8b-1f2e3d4c5b6a"}"#
        #expect(Secrecy.breaches(in: log + "\n0 " + String(repeating: "a", count: 100) + "\n") == [])
    }
}
