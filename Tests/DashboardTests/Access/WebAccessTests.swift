import CarillonIO
import CarillonTLS
import CarillonWeb
import Testing

@testable import CarillonDashboard

@Suite struct WebAccessTests {
    private static let start = MonotonicInstant.now
    private static let limit = AttemptLimit()

    @Test func `a session ends after its lifetime, by logging out, or when there are too many`() {
        var table = SessionTable()
        table.add("a", at: Self.start)
        func contains(_ id: String, at now: MonotonicInstant) -> Bool { table.session(id, at: now) != nil }
        #expect(contains("a", at: Self.start) && !contains("b", at: Self.start))
        #expect(!contains("a", at: Self.start + SessionTable.lifetime))
        table.remove("a")
        #expect(!contains("a", at: Self.start))
        for number in 0...SessionTable.maxSessions { table.add("\(number)", at: Self.start + .seconds(number)) }
        let now = Self.start + .seconds(SessionTable.maxSessions)
        #expect(!contains("0", at: now) && contains("1", at: now) && contains("\(SessionTable.maxSessions)", at: now))
    }

    @Test func `readers who log in often log out no operator`() {
        var table = SessionTable()
        table.add("operator", mayChange: true, at: Self.start)
        for number in 1...SessionTable.maxSessions + 1 { table.add("\(number)", at: Self.start + .seconds(number)) }
        let now = Self.start + .seconds(SessionTable.maxSessions + 1)
        #expect(table.session("operator", at: now) != nil)
        #expect(table.session("2", at: now) == nil && table.session("3", at: now) != nil)
    }

    private static let closed = WebAccess(WebAccess.Rules(password: DerivedPassword("password")))

    private static func request(_ method: String = "GET", _ headers: (String, String)...) -> Request {
        Request(method: method, path: "/", headers: headers.map { ($0.0, $0.1) })
    }

    @Test(arguments: [
        ("localhost:9465", true), ("127.0.0.1", true), ("127.3.2.1:80", true), ("[::1]:9465", true),
        ("LOCALHOST", true),
        ("evil.example", false), ("127.0.0.1.evil.example", false), ("localhost.evil.example:9465", false),
        ("[::2]", false),
        ("", false), ("192.168.0.7:9465", false),
    ])
    func `without a password, only the names of this machine are answered`(host: String, isAnswered: Bool) {
        let open = WebAccess(WebAccess.Rules())
        #expect((open.refusal(of: Self.request("GET", ("Host", host))) == nil) == isAnswered)
        let closed = Self.closed
        #expect(closed.refusal(of: Self.request("GET", ("Host", host))) == nil)
    }

    @Test func `a form of another site is refused`() {
        let access = Self.closed
        #expect(access.refusal(of: Self.request("POST", ("Host", "a:1"), ("Origin", "http://a:1"))) == nil)
        #expect(access.refusal(of: Self.request("POST", ("Host", "a"), ("Origin", "https://a"))) == nil)
        for origin in ["http://b", "null", "http://a:1.evil.example", "http://a"] {
            #expect(access.refusal(of: Self.request("POST", ("Host", "a:1"), ("Origin", origin)))?.status == 403)
        }
        for (site, status) in [("cross-site", 403), ("same-site", 403), ("same-origin", nil), ("none", nil)] {
            let request = Self.request("POST", ("Host", "a:1"), ("Sec-Fetch-Site", site))
            #expect(access.refusal(of: request)?.status == status, "without an origin, \(site)")
        }
    }

    @Test func `the right password makes a session, and a wrong one does not`() async {
        let access = Self.closed
        #expect(access.viewer(of: Self.request()) == nil)
        let now = MonotonicInstant.now
        #expect(await access.logIn(Self.request(), with: "Password", at: now) == .wrong)
        guard case .accepted(let id, _) = await access.logIn(Self.request(), with: "password", at: now) else {
            Issue.record("not accepted")
            return
        }
        let request = Self.request("GET", ("Cookie", "other=1; carillon_session=\(id)"))
        #expect(id.count == 64 && access.viewer(of: request)?.mayChange == false)
        let other = id.dropLast() + (id.last == "0" ? "1" : "0")
        #expect(access.viewer(of: Self.request("GET", ("Cookie", "carillon_session=\(other)"))) == nil)
        access.logOut(request)
        #expect(access.viewer(of: request) == nil)
        // One guess was made above.
        for _ in 1..<Self.limit.atOnce { #expect(await access.logIn(Self.request(), with: "wrong", at: now) == .wrong) }
        #expect(await access.logIn(Self.request(), with: "password", at: now) == .tooMany)
    }

    @Test
    func `the operators' password lets change something, and each viewer has a form token of its own`() async throws {
        let rules = WebAccess.Rules(
            password: DerivedPassword("readers' own"),
            operatorPassword: DerivedPassword("operators' own")
        )
        let access = WebAccess(rules)
        func viewer(_ password: String, _ name: String?) async throws -> Viewer {
            let id: String? =
                if case .accepted(let id, _) = await access.logIn(Self.request(), with: password, name: name) {
                    id
                } else {
                    nil
                }
            let cookie = "carillon_session=\(try #require(id))"
            return try #require(access.viewer(of: Self.request("GET", ("Cookie", cookie))))
        }
        let reader = try await viewer("readers' own", nil)
        let anna = try await viewer("operators' own", "anna")
        let bert = try await viewer("operators' own", "bert")
        #expect(!reader.mayChange && reader.canLogIn && anna.mayChange && anna.name == "anna" && !anna.canLogIn)
        #expect(Set([reader, anna, bert].map(\.formToken)).count == 3)
        #expect(access.isForm(anna.formToken, of: anna) && !access.isForm(bert.formToken, of: anna))
        #expect(!access.isForm(nil, of: anna) && !access.isForm("", of: anna))
        for place in anna.formToken.indices {
            var other = anna.formToken
            other.replaceSubrange(place...place, with: other[place] == "0" ? "1" : "0")
            #expect(!access.isForm(other, of: anna))
        }
    }

    @Test func `only this machine's own visitors may change without a password, with a cookie`() throws {
        let access = WebAccess(WebAccess.Rules(letsMachineChange: true))
        let first = try #require(access.viewer(of: Self.request()))
        let cookie = try #require(first.newCookie?.prefix { $0 != ";" })
        #expect(first.mayChange && cookie.hasPrefix("carillon_visitor="))
        let again = try #require(access.viewer(of: Self.request("POST", ("Cookie", String(cookie)))))
        #expect(again.newCookie == nil && access.isForm(first.formToken, of: again))
        // A page of another site has no cookie of this one.
        let stranger = try #require(access.viewer(of: Self.request("POST")))
        #expect(!access.isForm(first.formToken, of: stranger))
        #expect(access.refusal(of: Self.request("POST", ("Host", "evil.example"))) != nil)
    }

    @Test func `a header names a user only if it comes from the trusted proxy`() throws {
        let proxy = ProxyTrust(addresses: ["10.0.0.2"], header: "X-User", operators: ["anna"])
        let access = WebAccess(WebAccess.Rules(isOpenToOthers: true, proxy: proxy))
        func viewer(_ user: String?, from peer: String?) -> Viewer? {
            let headers = user.map { [("x-user", $0)] } ?? []
            return access.viewer(of: Request(method: "GET", path: "/", headers: headers, peer: peer))
        }
        #expect(viewer("anna", from: "10.0.0.2")?.mayChange == true)
        #expect(viewer("bert", from: "10.0.0.2").map { !$0.mayChange && $0.name == "bert" } == true)
        #expect(viewer("anna", from: "10.0.0.3") == nil && viewer("anna", from: nil) == nil)
        #expect(viewer(nil, from: "10.0.0.2") == nil && viewer("", from: "10.0.0.2") == nil)
    }

    @Test(
        arguments: [
            ("10.0.0.2", "10.0.0.2"), ("::0001", "::1"), ("FD00::2", "fd00::2"), ("::ffff:10.0.0.2", "10.0.0.2"),
            ("localhost", nil), ("proxy.example", nil), ("10.0.0.0/8", nil), ("10.0.0.2:80", nil), ("", nil),
        ] as [(String, String?)]
    )
    func `a proxy is known by its numeric address, however that is written`(text: String, address: String?) {
        #expect(ProxyTrust.address(text) == address)
    }

    @Test func `a request of the proxy is answered only under a name that was chosen`() {
        // The proxy is on this machine, where a page of another site can reach the dashboard and send the header itself.
        let proxy = ProxyTrust(
            addresses: ["127.0.0.1"],
            header: "X-User",
            operators: ["anna"],
            hosts: ["dashboard.example", "[fd00::1]"]
        )
        let access = WebAccess(WebAccess.Rules(proxy: proxy))
        func status(_ host: String?, _ method: String = "GET", _ headers: (String, String)...) -> Int? {
            let named = [("X-User", "anna")] + (host.map { [("Host", $0)] } ?? []) + headers
            let all = named.map { (name: $0.0, value: $0.1) }
            return access.refusal(of: Request(method: method, path: "/", headers: all, peer: "127.0.0.1"))?.status
        }
        for host in ["dashboard.example", "Dashboard.Example:8443", "[fd00::1]:9465"] {
            #expect(status(host) == nil && status(host, "POST") == nil, "\(host)")
        }
        for host in ["evil.example", "evil.example:9465", "dashboard.example.evil.example", "localhost:9465", ""] {
            #expect(status(host) == 403, "\(host)")
        }
        #expect(status(nil) == 403)
        #expect(status("evil.example", "GET", ("X-Forwarded-Host", "dashboard.example")) == 403)
        for origin in ["https://dashboard.example", "https://dashboard.example:8443", "http://[fd00::1]"] {
            #expect(status("dashboard.example", "POST", ("Origin", origin)) == nil, "\(origin)")
        }
        for origin in ["http://evil.example", "null", "dashboard.example", "https://dashboard.example.evil.example"] {
            let forwarded = ("X-Forwarded-Host", "evil.example")
            #expect(status("dashboard.example", "POST", ("Origin", origin), forwarded) == 403, "\(origin)")
        }
    }

    @Test(
        arguments: [
            ("dashboard.example.org", "dashboard.example.org"), ("Dashboard", "dashboard"), ("10.0.0.7", "10.0.0.7"),
            ("[fd00::1]", "[fd00::1]"), ("", nil), ("dashboard:80", nil), ("https://dashboard", nil),
            ("dashboard/", nil), ("fd00::1", nil), ("*", nil),
        ] as [(String, String?)]
    )
    func `a public host is a name alone`(text: String, host: String?) {
        #expect(HostName.given(text) == host)
    }

    @Test func `of two headers that name a user, neither is believed`() {
        let proxy = ProxyTrust(addresses: ["10.0.0.2"], header: "X-User", operators: ["anna"])
        let access = WebAccess(WebAccess.Rules(isOpenToOthers: true, proxy: proxy))
        for names in [["anna", "bert"], ["bert", "anna"], ["anna", "anna"]] {
            let headers = zip(["X-User", "x-user"], names).map { (name: $0, value: $1) }
            #expect(access.viewer(of: Request(method: "GET", path: "/", headers: headers, peer: "10.0.0.2")) == nil)
        }
    }

    @Test func `where no password lets in, nobody is asked for one`() {
        let proxy = ProxyTrust(addresses: ["10.0.0.2"], header: "X-User", operators: [])
        func challenge(_ password: DerivedPassword?, from peer: String) -> Response {
            let access = WebAccess(WebAccess.Rules(password: password, isOpenToOthers: true, proxy: proxy))
            return access.challenge(Request(method: "GET", path: "/apps", peer: peer))
        }
        let password = DerivedPassword("password")
        for answer in [
            challenge(nil, from: "10.0.0.2"), challenge(nil, from: "10.0.0.3"), challenge(password, from: "10.0.0.2"),
        ] {
            #expect(answer.status == 403)
        }
        func says(_ answer: Response) -> String { String(decoding: answer.body, as: UTF8.self) }
        #expect(says(challenge(nil, from: "10.0.0.2")).contains("header X-User"))
        #expect(says(challenge(nil, from: "10.0.0.3")).contains("10.0.0.3, which --trusted-proxy does not name"))
        #expect(challenge(password, from: "10.0.0.3").status == 303)
    }

    @Test func `a user who may only read is told what gives the right to change`() throws {
        let proxy = ProxyTrust(addresses: ["10.0.0.2"], header: "X-User", operators: ["anna"])
        let password = DerivedPassword("operators' own")
        func way(_ rules: WebAccess.Rules, from peer: String = "127.0.0.1", as user: String? = nil) throws -> String {
            let headers = user.map { [(name: "X-User", value: $0)] } ?? []
            let request = Request(method: "GET", path: "/", headers: headers, peer: peer)
            return try #require(WebAccess(rules).viewer(of: request)).wayToChange
        }
        let named = try way(WebAccess.Rules(operatorPassword: password, proxy: proxy), from: "10.0.0.2", as: "bert")
        #expect(named.contains("'bert'") && named.contains("--operator ") && !named.contains("assword"), "\(named)")
        #expect(try way(WebAccess.Rules(operatorPassword: password)).contains("operators' password"))
        let plain = try way(WebAccess.Rules())
        #expect(plain.contains("--operator-password-file") && plain.contains("--local-changes"), "\(plain)")
    }

    @Test func `a proxy that is not named is told so`() {
        let proxy = ProxyTrust(addresses: ["10.0.0.2"], header: "X-User", operators: [], hosts: ["dashboard.example"])
        let request = Request(
            method: "GET",
            path: "/",
            headers: [(name: "Host", value: "dashboard.example")],
            peer: "10.0.0.3"
        )
        let refusal = WebAccess(WebAccess.Rules(proxy: proxy)).refusal(of: request)
        let text = String(decoding: refusal?.body ?? [], as: UTF8.self)
        #expect(text.contains("10.0.0.3, which --trusted-proxy does not name"))
    }

    @Test(arguments: [("GET", "/login?next=%2Fapps%2Fshop%2Fpause"), ("POST", "/login?next=%2F")])
    func `after the login comes the page that was wanted, if there was one`(method: String, link: String) {
        let challenge = Self.closed.challenge(Request(method: method, path: "/apps/shop/pause"))
        #expect(challenge.headers.first { $0.name == "Location" }?.value == link)
    }

    @Test func `a cookie is kept from scripts and other sites`() {
        let plain = Self.closed.cookie("id", for: Self.request())
        #expect(plain == "carillon_session=id; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200")
        // Anybody may send this header.
        #expect(Self.closed.cookie("id", for: Self.request("GET", ("X-Forwarded-Proto", "https"))) == plain)
        // The browser says where its form came from.
        let form = Self.request("POST", ("Origin", "https://dashboard.example.org"))
        #expect(Self.closed.cookie("id", for: form).hasSuffix("Max-Age=43200; Secure"))
        let plainForm = Self.request("POST", ("Origin", "http://dashboard.example.org"))
        #expect(Self.closed.cookie("id", for: plainForm) == plain)
    }

    @Test func `a cookie is for TLS alone if a trusted proxy says that its client uses TLS`() {
        let proxy = ProxyTrust(addresses: ["10.0.0.2"], header: "X-User", operators: [])
        let access = WebAccess(WebAccess.Rules(password: DerivedPassword("password"), proxy: proxy))
        func isForTLS(from peer: String, _ schemes: String...) -> Bool {
            let headers = schemes.map { (name: "X-Forwarded-Proto", value: $0) }
            let request = Request(method: "POST", path: "/login", headers: headers, peer: peer)
            return access.knownCookie(mayChange: false, for: request).hasSuffix("; Secure")
        }
        #expect(isForTLS(from: "10.0.0.2", "https") && isForTLS(from: "10.0.0.2", "HTTPS"))
        #expect(!isForTLS(from: "10.0.0.2", "http") && !isForTLS(from: "10.0.0.2"))
        // Anybody else may send this header, and a proxy may pass on one that it has not written.
        #expect(!isForTLS(from: "10.0.0.3", "https") && !isForTLS(from: "10.0.0.2", "https", "http"))
    }
}
