import CarillonIO
import CarillonTLS
import CarillonWeb
import Synchronization

/// Who may read the dashboard: without a password, whoever is on this machine; with one, the browsers that have given it.
final class WebAccess: Sendable {
    private struct State {
        var sessions = SessionTable()
        var attempts = AttemptLimit()
    }

    enum LogIn: Equatable {
        /// The id of the new session.
        case accepted(String)
        case wrong
        case tooMany
    }

    private static let cookie = "carillon_session"

    private let password: DerivedPassword?
    private let state = Mutex(State())

    init(password: DerivedPassword?) { self.password = password }

    var takesPassword: Bool { password != nil }

    /// Why a request is refused by its headers, whatever it asks for.
    func refusal(of request: Request) -> Response? {
        // A page of another site can make a browser on this machine send requests here, under a name that its owner has
        // pointed at this machine. Such a request has that name.
        if password == nil, !isLocal(request.header("Host")) {
            return Response(text: "Without a password, this server is called localhost or 127.0.0.1.\n", status: 403)
        }
        guard request.method == "POST" else { return nil }
        let host = request.header("Host") ?? ""
        if let origin = request.header("Origin"), origin != "http://" + host, origin != "https://" + host {
            return Response(text: "Forms of other sites are not taken.\n", status: 403)
        }
        return nil
    }

    func admits(_ request: Request) -> Bool {
        guard password != nil else { return true }
        guard let id = request.cookie(Self.cookie) else { return false }
        return state.withLock { $0.sessions.contains(id, at: .now) }
    }

    func logIn(with candidate: String) -> LogIn {
        guard let password, self.state.withLock({ $0.attempts.attempt(at: .now) }) else { return .tooMany }
        guard password.matches(candidate) else { return .wrong }
        let id = SystemRandom.bytes(32).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        .joined()
        state.withLock { state in
            state.attempts.succeeded(at: .now)
            state.sessions.add(id, at: .now)
        }
        return .accepted(id)
    }

    func logOut(_ request: Request) {
        guard let id = request.cookie(Self.cookie) else { return }
        state.withLock { $0.sessions.remove(id) }
    }

    /// The value of `Set-Cookie`; without an id it removes the cookie.
    static func cookie(_ id: String?, for request: Request) -> String {
        // A proxy that speaks TLS says so.
        let isSecure = request.header("X-Forwarded-Proto")?.lowercased() == "https"
        return "\(cookie)=\(id ?? ""); Path=/; HttpOnly; SameSite=Strict; Max-Age="
            + (id == nil ? "0" : String(SessionTable.lifetime.components.seconds)) + (isSecure ? "; Secure" : "")
    }

    private func isLocal(_ host: String?) -> Bool {
        guard let host else { return true }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return name == "[::1]" || Address.isLoopback(name.lowercased())
    }
}
