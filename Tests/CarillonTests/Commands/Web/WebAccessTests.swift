import CarillonIO
import CarillonTLS
import CarillonWeb
import Testing

@testable import Carillon

@Suite struct WebAccessTests {
    private static let start = MonotonicInstant.now

    @Test func `a few guesses are allowed at once, and then one every interval`() {
        var limit = AttemptLimit()
        var allowed: [Bool] = []
        func attempt(_ times: Int = 1, after time: Duration) {
            for _ in 0..<times { allowed.append(limit.attempt(at: Self.start + time)) }
        }
        attempt(AttemptLimit.atOnce + 1, after: .zero)
        #expect(allowed == Array(repeating: true, count: AttemptLimit.atOnce) + [false])
        allowed = []
        attempt(after: AttemptLimit.interval - Duration.milliseconds(1))
        attempt(2, after: AttemptLimit.interval)
        #expect(allowed == [false, true, false])
        allowed = []
        attempt(AttemptLimit.atOnce + 1, after: AttemptLimit.interval * 100)
        #expect(allowed == Array(repeating: true, count: AttemptLimit.atOnce) + [false])
        limit.succeeded(at: Self.start + AttemptLimit.interval * 100)
        allowed = []
        attempt(after: AttemptLimit.interval * 100)
        #expect(allowed == [true])
    }

    @Test func `a session ends after its lifetime, by logging out, or when there are too many`() {
        var table = SessionTable()
        table.add("a", at: Self.start)
        #expect(table.contains("a", at: Self.start) && !table.contains("b", at: Self.start))
        #expect(!table.contains("a", at: Self.start + SessionTable.lifetime))
        table.remove("a")
        #expect(!table.contains("a", at: Self.start))
        for number in 0...SessionTable.limit { table.add("\(number)", at: Self.start + .seconds(number)) }
        let now = Self.start + .seconds(SessionTable.limit)
        #expect(
            !table.contains("0", at: now) && table.contains("1", at: now)
                && table.contains("\(SessionTable.limit)", at: now)
        )
    }

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
        let open = WebAccess(password: nil)
        #expect((open.refusal(of: Self.request("GET", ("Host", host))) == nil) == isAnswered)
        let closed = WebAccess(password: DerivedPassword("password"))
        #expect(closed.refusal(of: Self.request("GET", ("Host", host))) == nil)
    }

    @Test func `a form of another site is refused`() {
        let access = WebAccess(password: DerivedPassword("password"))
        #expect(access.refusal(of: Self.request("POST", ("Host", "a:1"), ("Origin", "http://a:1"))) == nil)
        #expect(access.refusal(of: Self.request("POST", ("Host", "a"), ("Origin", "https://a"))) == nil)
        for origin in ["http://b", "null", "http://a:1.evil.example", "http://a"] {
            #expect(access.refusal(of: Self.request("POST", ("Host", "a:1"), ("Origin", origin)))?.status == 403)
        }
    }

    @Test func `the right password makes a session, and a wrong one does not`() {
        let access = WebAccess(password: DerivedPassword("password"))
        #expect(!access.admits(Self.request()))
        #expect(access.logIn(with: "Password") == .wrong)
        guard case .accepted(let id) = access.logIn(with: "password") else {
            Issue.record("not accepted")
            return
        }
        let request = Self.request("GET", ("Cookie", "other=1; carillon_session=\(id)"))
        #expect(id.count == 64 && access.admits(request))
        let other = id.dropLast() + (id.last == "0" ? "1" : "0")
        #expect(!access.admits(Self.request("GET", ("Cookie", "carillon_session=\(other)"))))
        access.logOut(request)
        #expect(!access.admits(request))
        for _ in 0..<AttemptLimit.atOnce { #expect(access.logIn(with: "wrong") == .wrong) }
        #expect(access.logIn(with: "password") == .tooMany)
    }

    @Test func `a cookie is kept from scripts and other sites`() {
        let plain = WebAccess.cookie("id", for: Self.request())
        #expect(plain == "carillon_session=id; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200")
        #expect(
            WebAccess.cookie(nil, for: Self.request("GET", ("X-Forwarded-Proto", "https"))).hasSuffix(
                "Max-Age=0; Secure"
            )
        )
    }
}
