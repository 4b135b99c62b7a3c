import CarillonIO
import CarillonTLS
import CarillonWeb
import Testing

@testable import CarillonDashboard

/// Whose guesses of passwords count together when a header says for whom a proxy asks.
@Suite struct ForwardedClientTests {
    private static let proxies: Set<String> = ["10.0.0.2", "10.0.0.9", "127.0.0.1"]
    private static let proxy = ProxyTrust(addresses: proxies, header: "X-User", operators: [])

    private static func source(
        from peer: String,
        _ forwarded: String...,
        trusting proxy: ProxyTrust? = proxy
    ) -> AttemptLimits.Source {
        let headers = forwarded.map { (name: "X-Forwarded-For", value: $0) }
        let request = Request(method: "POST", path: "/login", headers: headers, peer: peer)
        return AttemptLimits.source(of: request, known: nil, proxy: proxy)
    }

    @Test(arguments: ["10.0.0.2", "127.0.0.1"])
    func `a trusted proxy adds its client last, and the client may have written what precedes it`(proxy: String) {
        #expect(Self.source(from: proxy, "192.0.2.3") == .address("192.0.2.3"))
        #expect(Self.source(from: proxy, "192.0.2.7, 192.0.2.3") == .address("192.0.2.3"))
        #expect(Self.source(from: proxy, "192.0.2.7,rubbish,\t192.0.2.3 ") == .address("192.0.2.3"))
        // Some proxies add a header of their own after the client's.
        #expect(Self.source(from: proxy, "192.0.2.7", "192.0.2.3") == .address("192.0.2.3"))
        // Addresses that one person may have count as one, however they are written.
        let one = Self.source(from: proxy, "2001:db8::1")
        #expect(one == Self.source(from: proxy, "2001:0db8:0:0:ffff::2"))
        #expect(one != Self.source(from: proxy, "2001:db8:0:1::1"))
        #expect(Self.source(from: proxy, "::ffff:192.0.2.3") == .address("192.0.2.3"))
    }

    @Test func `trusted proxies behind each other are not the client`() {
        #expect(Self.source(from: "10.0.0.2", "192.0.2.7, 192.0.2.3, 10.0.0.9") == .address("192.0.2.3"))
        #expect(Self.source(from: "10.0.0.2", "192.0.2.3, 10.0.0.9", "127.0.0.1") == .address("192.0.2.3"))
        // The client of a proxy that is not trusted is nobody's word.
        #expect(Self.source(from: "10.0.0.2", "192.0.2.3, 10.0.0.4, 10.0.0.9") == .address("10.0.0.4"))
        #expect(Self.source(from: "10.0.0.2", "10.0.0.9") == .address("10.0.0.2"))
    }

    @Test(arguments: [
        "", ",", "192.0.2.3,", "unknown", "192.0.2.3, _hidden", "192.0.2.3, 192.0.2.4:80", "192.0.2.3, 10.0.0.2, x",
        "192.0.2.3, 10.0.0.9,", "192.0.2.3 192.0.2.4", "192.0.2.3;192.0.2.4", "\u{1f514}",
    ])
    func `all clients of a trusted proxy that names none by an address count as one`(forwarded: String) {
        #expect(Self.source(from: "10.0.0.2", forwarded) == .address("10.0.0.2"))
        #expect(Self.source(from: "10.0.0.2") == .address("10.0.0.2"))
    }

    @Test(arguments: ["192.0.2.3", "10.0.0.2", "127.0.0.1", "192.0.2.3, 10.0.0.2", "", "rubbish"])
    func `no other proxy's header is trusted`(forwarded: String) {
        #expect(Self.source(from: "10.0.0.3", forwarded) == .address("10.0.0.3"))
        #expect(Self.source(from: "10.0.0.2", forwarded, trusting: nil) == .address("10.0.0.2"))
        // A proxy on this machine that nobody has named. Guesses of its clients do not keep out this machine.
        #expect(Self.source(from: "127.0.0.1", forwarded, trusting: nil) == .address("127.0.0.1"))
        #expect(Self.source(from: "127.0.0.1", trusting: nil) == .machine)
    }

    @Test func `a client that forges another address for each guess is soon refused`() async {
        let rules = WebAccess.Rules(password: DerivedPassword("password"), proxy: Self.proxy)
        let start = MonotonicInstant.now
        func guesses(_ access: WebAccess, from peer: String, _ forwarded: (Int) -> String) async -> Int {
            var count = 0
            for number in 0..<100 {
                let headers = [(name: "X-Forwarded-For", value: forwarded(number))]
                let request = Request(method: "POST", path: "/login", headers: headers, peer: peer)
                if await access.logIn(request, with: "wrong", at: start) == .wrong { count += 1 }
            }
            return count
        }
        let few = AttemptLimit().atOnce
        #expect(await guesses(WebAccess(rules), from: "10.0.0.3") { "192.0.2.\($0)" } == few)
        #expect(await guesses(WebAccess(rules), from: "10.0.0.2") { "192.0.2.\($0), 192.0.2.200" } == few)
        #expect(await guesses(WebAccess(rules), from: "10.0.0.2") { "192.0.2.200:\($0)" } == few)
    }
}
