import CarillonIO
import TestSupport
import Testing

@testable import Carillon

@Suite struct AccessTokenTests {
    @Test(arguments: [
        ("Bearer 0123456789abcdef", true), ("bearer 0123456789abcdef", true), ("Basic dTowMTIzNDU2Nzg5YWJjZGVm", true),
        ("Basic OjAxMjM0NTY3ODlhYmNkZWY=", true), ("Bearer 0123456789abcdeF", false),
        ("Bearer 0123456789abcdef0", false),
        ("Bearer ", false), ("Bearer", false), ("Basic MDEyMzQ1Njc4OWFiY2RlZg==", false), ("Basic !", false),
        ("0123456789abcdef", false), ("", false),
    ])
    func `an access token is a bearer token, or anybody's password`(header: String, isAdmitted: Bool) throws {
        #expect(try AccessToken("0123456789abcdef").admits(header) == isAdmitted)
        #expect(try !AccessToken("0123456789abcdef").admits(nil))
    }

    @Test func `no other token is admitted`() throws {
        let token = try AccessToken("0123456789abcdef")
        // A comparison that looks at the last byte only admits one of 256.
        #expect((0..<2000).allSatisfy { !token.admits("Bearer \($0) is another token") })
    }

    @Test func `a token is read again from its file, and stays while the file is of no use`() throws {
        try TemporaryFolder.with { folder in
            let path = try folder.write("token", "0123456789abcdef\n")
            let failures = Guarded<[String]>([])
            let source = AccessTokenSource(try AccessToken("0123456789abcdef"), path: path) { failure in
                failures.withLock { $0.append(failure) }
            }
            _ = try folder.write("token", "fedcba9876543210\n")
            let now = MonotonicInstant.now
            #expect(source.current(at: now).admits("Bearer 0123456789abcdef"))
            #expect(source.current(at: now + .seconds(2)).admits("Bearer fedcba9876543210"))
            _ = try folder.write("token", "short")
            #expect(source.current(at: now + .seconds(4)).admits("Bearer fedcba9876543210"))
            #expect(failures.withLock { $0.count } == 1)
        }
    }

    @Test(arguments: ["", "short", "0123456789 abcdef", "0123456789äbcdefg"])
    func `a token that is too short, or not visible, is refused`(text: String) {
        let error = #expect(throws: UsageError.self) { try AccessToken(text) }
        #expect(error?.sentence.contains("openssl rand") == true)
    }
}
