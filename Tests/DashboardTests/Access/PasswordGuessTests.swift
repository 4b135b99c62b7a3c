import CarillonIO
import CarillonTLS
import CarillonWeb
import Testing

@testable import CarillonDashboard

/// How many passwords can be guessed, and who is kept from logging in by the guesses of others.
@Suite struct PasswordGuessTests {
    private static let start = MonotonicInstant.now
    private static let limit = AttemptLimit()

    @Test func `a few guesses are allowed at once, and then one every interval`() {
        var limit = AttemptLimit()
        var allowed: [Bool] = []
        func attempt(_ times: Int = 1, after time: Duration) {
            for _ in 0..<times { allowed.append(limit.attempt(at: Self.start + time)) }
        }
        attempt(Self.limit.atOnce + 1, after: .zero)
        #expect(allowed == Array(repeating: true, count: Self.limit.atOnce) + [false])
        allowed = []
        attempt(after: Self.limit.interval - Duration.milliseconds(1))
        attempt(2, after: Self.limit.interval)
        #expect(allowed == [false, true, false])
        allowed = []
        attempt(Self.limit.atOnce + 1, after: Self.limit.interval * 100)
        #expect(allowed == Array(repeating: true, count: Self.limit.atOnce) + [false])
        limit.succeeded()
        allowed = []
        attempt(after: Self.limit.interval * 100)
        #expect(allowed == [true])
    }

    @Test func `a right password gives back its own attempt, and no guess`() {
        var limit = AttemptLimit()
        var allowed: [Bool] = []
        for _ in 1..<Self.limit.atOnce {
            allowed.append(limit.attempt(at: Self.start))
            // Who knows one password may guess another.
            allowed.append(limit.attempt(at: Self.start))
            limit.succeeded()
        }
        for _ in 1...2 { allowed.append(limit.attempt(at: Self.start)) }
        #expect(allowed == Array(repeating: true, count: 2 * Self.limit.atOnce - 1) + [false])
    }

    private func logIn(
        _ access: WebAccess,
        from peer: String,
        _ password: String = "wrong",
        _ headers: (String, String)...
    ) async -> WebAccess.LogIn {
        let request = Request(method: "POST", path: "/login", headers: headers.map { ($0.0, $0.1) }, peer: peer)
        return await access.logIn(request, with: password, at: Self.start)
    }

    /// Uses up the attempts of an address.
    private func guess(_ access: WebAccess, from peer: String, _ headers: (String, String)...) async {
        let request = Request(method: "POST", path: "/login", headers: headers.map { ($0.0, $0.1) }, peer: peer)
        while await access.logIn(request, with: "wrong", at: Self.start) == .wrong {}
    }

    @Test func `guesses from one IP address do not block logins from others`() async {
        let access = WebAccess(WebAccess.Rules(password: DerivedPassword("password")))
        await guess(access, from: "192.0.2.1")
        #expect(await logIn(access, from: "192.0.2.1", "password") == .tooMany)
        #expect(await logIn(access, from: "192.0.2.2") == .wrong)
        // Addresses that one person may have count as one, however they are written.
        await guess(access, from: "2001:db8::1")
        #expect(await logIn(access, from: "2001:db8:0:0:ffff::2") == .tooMany)
        #expect(await logIn(access, from: "2001:db8:0:1::") == .wrong)
    }

    @Test
    func `guesses from many addresses lock out neither this machine nor a browser that has logged in`() async throws {
        let rules = WebAccess.Rules(
            password: DerivedPassword("readers' own"),
            operatorPassword: DerivedPassword("operators' own")
        )
        let access = WebAccess(rules)
        var guesses = 0
        for number in 0..<200 {
            if await logIn(access, from: "192.0.2.\(number)") == .wrong { guesses += 1 }
        }
        #expect(guesses == 20)
        #expect(await logIn(access, from: "198.51.100.1", "readers' own") == .tooMany)
        guard case .accepted(_, let mayChange) = await logIn(access, from: "127.0.0.1", "readers' own") else {
            Issue.record("this machine is refused")
            return
        }
        let cookie = try #require(
            access.knownCookie(mayChange: mayChange, for: Request(method: "GET", path: "/", headers: [])).split(
                separator: ";"
            ).first
        )
        var more = 0
        while await logIn(access, from: "198.51.100.2", "wrong", ("Cookie", String(cookie))) == .wrong { more += 1 }
        #expect(more == Self.limit.atOnce)
        // Logins from as many addresses would otherwise bring new guesses at the operators' password.
        for number in 0..<100 {
            let login = Request(method: "POST", path: "/login", headers: [], peer: "203.0.113.\(number)")
            let other = access.knownCookie(mayChange: false, for: login).prefix { $0 != ";" }
            while await logIn(access, from: "198.51.100.2", "wrong", ("Cookie", String(other))) == .wrong { more += 1 }
        }
        #expect(more == 20)
        let operators = access.knownCookie(mayChange: true, for: Request(method: "GET", path: "/", headers: [])).prefix
        { $0 != ";" }
        #expect(await logIn(access, from: "198.51.100.1", "wrong", ("Cookie", String(operators))) == .wrong)
        let forged = String(operators.prefix { $0 != "." }) + "." + String(repeating: "0", count: 64)
        #expect(await logIn(access, from: "198.51.100.1", "wrong", ("Cookie", forged)) == .tooMany)
    }

    @Test(arguments: ["192.0.2.1", "127.0.0.1"])
    func `whoever logs in as a reader again and again gets no more guesses than with one login`(
        address: String
    ) async throws {
        let rules = WebAccess.Rules(
            password: DerivedPassword("readers' own"),
            operatorPassword: DerivedPassword("operators' own")
        )
        let access = WebAccess(rules)
        let login = Request(method: "POST", path: "/login", headers: [], peer: address)
        var cookies: [String] = []
        for _ in 0..<14 {
            guard case .accepted(_, let mayChange) = await logIn(access, from: address, "readers' own") else {
                Issue.record("a login is refused")
                return
            }
            cookies.append(String(access.knownCookie(mayChange: mayChange, for: login).prefix { $0 != ";" }))
        }
        var guesses = 0
        for cookie in cookies {
            while await logIn(access, from: address, "wrong", ("Cookie", cookie)) == .wrong { guesses += 1 }
        }
        #expect(guesses == Self.limit.atOnce)
        // They lock out neither the operators' browsers nor those who logged in elsewhere.
        let elsewhere = Request(method: "POST", path: "/login", headers: [], peer: "192.0.2.2")
        for (request, mayChange) in [(login, true), (elsewhere, false)] {
            let other = String(access.knownCookie(mayChange: mayChange, for: request).prefix { $0 != ";" })
            #expect(await logIn(access, from: address, "wrong", ("Cookie", other)) == .wrong)
        }
    }
}
