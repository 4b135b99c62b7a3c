import CarillonIO
import Glibc
import TestSupport

/// Requests that strangers, and one viewer with many open pages, send to a dashboard without pause, from many addresses.
final class WebAttack: Sendable {
    private static let bodyBytes = 256 * 1024

    private let port: UInt16
    private let answers = Guarded<[String: Int]>([:])
    private let areRefused = Gate()

    init(port: UInt16) { self.port = port }

    /// How many answers had each status; "" stands for connections that were cut off.
    var statuses: [String: Int] { answers.withLock { $0 } }

    /// First they guess passwords, until guesses are refused. Then they also send all other requests.
    ///
    /// - Parameters:
    ///   - session: the header of a viewer.
    ///   - password: the right password, as a form has it, for a client that logs in repeatedly.
    func go(session: String, password: String, while body: () async throws -> Void) async throws {
        let attackers = Task {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<32 { group.addTask { await self.logIn(UInt8(2 + number)) } }
                await self.areRefused.pass()
                for number in 0..<256 {
                    group.addTask { await self.post(UInt8(100 + number / 4), isWhole: number % 4 == 0) }
                }
                for _ in 0..<4 { group.addTask { await self.enter(password) } }
                for _ in 0..<40 { group.addTask { await self.watch(session) } }
            }
        }
        try await attempt(body) {
            attackers.cancel()
            await attackers.value
        }
    }

    private func logIn(_ host: UInt8) async {
        let form = "password=wrong+password&name=" + String(repeating: "x", count: 10_000)
        await repeatedly(
            from: host,
            "POST /login HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.\(host)\r\nConnection: close\r\n"
                + "Content-Length: \(form.utf8.count)\r\n\r\n\(form)"
        )
    }

    /// The right password uses up no attempt, so each login is checked, which takes as long as a guess.
    private func enter(_ password: String) async {
        let form = "password=\(password)"
        await repeatedly(
            from: 1,
            "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(form.utf8.count)\r\n\r\n\(form)",
            // It waits for its turn.
            for: .seconds(60)
        )
    }

    /// Sends the largest body, or all but its last byte, and accepts any answer. PostgreSQL finds that the token is unknown.
    private func post(_ host: UInt8, isWhole: Bool) async {
        let body = String(repeating: "[", count: Self.bodyBytes - (isWhole ? 0 : 1))
        await repeatedly(
            from: host,
            "POST /messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(Self.bodyBytes)\r\n\r\n\(body)"
        )
    }

    private func watch(_ session: String) async {
        await repeatedly(
            from: 1,
            "GET /live?page=%2Fapps HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n\(session)\r\n"
        )
    }

    private func repeatedly(from host: UInt8, _ text: String, for duration: Duration = .seconds(3)) async {
        while !Task.isCancelled {
            let status = await RawHTTP.knock(port, from: host, text, for: duration)
            answers.withLock { $0[status, default: 0] += 1 }
            if status == "429" { areRefused.open() }
        }
    }
}
