import CarillonIO
package import CarillonTLS
import CarillonText
import CarillonWeb

/// Who may read the dashboard, and who may change something.
package final class WebAccess: Sendable {
    package struct Rules: Sendable {
        /// The password for reading; nil if everybody on this machine may read, provided that only this machine can reach the
        /// dashboard.
        let password: DerivedPassword?
        /// The password for reading and changing.
        let operatorPassword: DerivedPassword?
        let isOpenToOthers: Bool
        /// Whether everybody on this machine may change something.
        let letsMachineChange: Bool
        let contents: ContentRight
        let proxy: ProxyTrust?

        package init(
            password: DerivedPassword? = nil,
            operatorPassword: DerivedPassword? = nil,
            isOpenToOthers: Bool = false,
            letsMachineChange: Bool = false,
            contents: ContentRight = .nobody,
            proxy: ProxyTrust? = nil
        ) {
            self.password = password
            self.operatorPassword = operatorPassword
            self.isOpenToOthers = isOpenToOthers
            self.letsMachineChange = letsMachineChange
            self.contents = contents
            self.proxy = proxy
        }

        var takesPassword: Bool { password != nil || operatorPassword != nil }
        /// Whether reading requires a session.
        var needsSession: Bool { password != nil || isOpenToOthers }
    }

    private struct State {
        var sessions = SessionTable()
        var attempts = AttemptLimits()
    }

    enum LogIn: Equatable {
        /// The id of the new session, and its right.
        case accepted(String, mayChange: Bool)
        case wrong
        case tooMany
    }

    private static let sessionCookie = "carillon_session"
    private static let visitorCookie = "carillon_visitor"
    private static let knownCookie = "carillon_known"
    private static let knownSeconds: Int64 = 180 * 86_400

    private let rules: Rules
    private let state = Guarded(State())
    /// The key of form tokens, which are therefore valid only in this run.
    private let secret = SystemRandom.bytes(32)

    private let turn = LoginTurn()

    package init(_ rules: Rules) { self.rules = rules }

    var takesPassword: Bool { rules.takesPassword }

    /// The refusal of a request because of its headers, whatever it asks for.
    func refusal(of request: Request) -> Response? {
        problem(of: request).map { RequestError(status: .forbidden, detail: $0, hint: $1).response(to: request) }
    }

    /// Prevents DNS rebinding (see `Request`), and forms of other sites.
    private func problem(of request: Request) -> (detail: String, hint: String)? {
        let proxy = rules.proxy.flatMap { $0.isProxy(request) ? $0 : nil }
        let host = request.header("Host")
        if let proxy {
            guard proxy.isAddressed(host) else {
                let name = (host ?? "").prefix(255)
                return (
                    "This dashboard is not called '\(name)'.",
                    "The proxy must pass on the name that its clients ask for, in the header Host, and --public-host must "
                        + "give that name."
                )
            }
        } else if !rules.needsSession {
            guard request.namesThisMachine else {
                return rules.proxy != nil
                    ? (
                        "Only requests from the trusted proxy, and requests to localhost or 127.0.0.1, are answered.",
                        Self.hintOfStranger(request)
                    )
                    : (
                        "Without a password, only requests to localhost or 127.0.0.1 are answered.",
                        "Use one of these names, or start 'carillon web' with --password-file."
                    )
            }
        }
        guard request.method == "POST" else { return nil }
        let isOwn =
            if let origin = request.header("Origin") {
                proxy?.isOwn(origin, of: request) ?? HostName.isOrigin(origin, of: host)
            } else {
                // Programs send neither.
                !["cross-site", "same-site"].contains(request.header("Sec-Fetch-Site"))
            }
        return isOwn
            ? nil
            : ("Forms of other sites are refused.", "Send the form from a page of this dashboard, or without Origin.")
    }

    /// The viewer who sent the request; nil if they may not read.
    func viewer(of request: Request) -> Viewer? {
        if let proxy = rules.proxy, proxy.isProxy(request) {
            guard let user = proxy.user(of: request) else { return nil }
            let formToken = digest("user", user)
            return viewer(named: user, mayChange: proxy.mayChange(user), isOfProxy: true, formToken: formToken)
        }
        if let id = request.cookie(Self.sessionCookie),
            let session = state.withLock({ $0.sessions.session(id, at: .now) })
        {
            var viewer = viewer(named: session.name, mayChange: session.mayChange, formToken: digest("session", id))
            viewer.hasSession = true
            viewer.canLogIn = !session.mayChange && rules.operatorPassword != nil
            return viewer
        }
        guard !rules.needsSession else { return nil }
        let known = request.cookie(Self.visitorCookie)
        let visitor = known ?? Self.randomID()
        let mayChange = rules.letsMachineChange
        var viewer = viewer(named: nil, mayChange: mayChange, formToken: digest("visitor", visitor))
        viewer.newCookie = known == nil && mayChange ? visitorCookie(visitor, for: request) : nil
        viewer.canLogIn = rules.takesPassword
        return viewer
    }

    private static func hintOfStranger(_ request: Request) -> String {
        "This one comes from \(request.peer ?? "an unknown address"), which --trusted-proxy does not name."
    }

    /// The refusal of a request that no password admits; nil if one does.
    func refusalOfLogin(_ request: Request) -> RequestError? {
        guard let proxy = rules.proxy, !rules.takesPassword || proxy.isProxy(request) else { return nil }
        return RequestError(
            status: .forbidden,
            detail: "Only users named by the trusted proxy are admitted.",
            hint: proxy.isProxy(request)
                ? "It must name each in the header \(proxy.header), once." : Self.hintOfStranger(request)
        )
    }

    private func viewer(named name: String?, mayChange: Bool, isOfProxy: Bool = false, formToken: String) -> Viewer {
        let seesContents = rules.contents.isGiven(toOneWhoMayChange: mayChange)
        let remedy = remedy(for: name, isOfProxy: isOfProxy)
        return Viewer(
            name: name,
            mayChange: mayChange,
            seesContents: seesContents,
            wayToChange: remedy,
            formToken: formToken
        )
    }

    /// How a viewer who may only read can get the right to change something.
    private func remedy(for name: String?, isOfProxy: Bool) -> String {
        if isOfProxy, let name {
            return
                "The trusted proxy names you '\(name)'. 'carillon web' lets only the users that --operator names "
                + "change things."
        }
        if rules.operatorPassword != nil { return "Log in with the operators' password." }
        return "Who may change something is an option of 'carillon web': --operator-password-file, "
            + (rules.needsSession ? "" : "--local-changes, ") + "or --trusted-proxy and --operator."
    }

    func isForm(_ token: String?, of viewer: Viewer) -> Bool {
        Digest.areSame(Array((token ?? "").utf8), Array(viewer.formToken.utf8))
    }

    /// A seal that shows that this server wrote the text for this viewer.
    func seal(_ text: String, for viewer: Viewer) -> String { digest("seal", viewer.formToken + ":" + text) }

    /// - Parameter name: the name under which the record of changes lists the person.
    func logIn(
        _ request: Request,
        with candidate: String,
        name: String? = nil,
        at now: MonotonicInstant = .now
    ) async -> LogIn {
        let source = AttemptLimits.source(of: request, known: knownBrowser(request), proxy: rules.proxy)
        guard rules.takesPassword, state.withLock({ $0.attempts.attempt(from: source, at: now) }) else {
            return .tooMany
        }
        let mayChange = await turn.matches(rules.operatorPassword, candidate)
        if !mayChange { guard await turn.matches(rules.password, candidate) else { return .wrong } }
        let id = Self.randomID()
        state.withLock { state in
            state.attempts.succeeded(from: source)
            state.sessions.add(id, name: name, mayChange: mayChange, at: now)
        }
        return .accepted(id, mayChange: mayChange)
    }

    /// The address that the request comes from.
    func source(of request: Request) -> AttemptLimits.Source {
        AttemptLimits.source(of: request, known: nil, proxy: rules.proxy)
    }

    func logOut(_ request: Request) {
        guard let id = request.cookie(Self.sessionCookie) else { return }
        state.withLock { $0.sessions.remove(id) }
    }

    // MARK: Cookies and tokens

    /// The value of `Set-Cookie`. If `id` is nil, it removes the cookie.
    func cookie(_ id: String?, for request: Request) -> String {
        "\(Self.sessionCookie)=\(id ?? "")"
            + attributes(for: request, seconds: id == nil ? 0 : SessionTable.lifetime.components.seconds)
    }

    /// The value of `Set-Cookie` that lets a browser log in again even if strangers have used up all attempts. All cookies that an
    /// address has got for one right have the same id, so logging in again brings no new guesses.
    func knownCookie(mayChange: Bool, for request: Request) -> String {
        let id =
            knownBrowser(request).flatMap { $0.mayChange == mayChange ? $0.id : nil }
            ?? digest("known from", "\(source(of: request))")
        return "\(Self.knownCookie)=\(id).\(sealOfKnown(id, mayChange: mayChange))"
            + attributes(for: request, seconds: Self.knownSeconds)
    }

    /// Where the browser that sent the request has logged in since the start, and with which right.
    private func knownBrowser(_ request: Request) -> (id: String, mayChange: Bool)? {
        guard let parts = request.cookie(Self.knownCookie)?.split(separator: "."), parts.count == 2 else { return nil }
        let id = String(parts[0])
        let right = [true, false].first {
            Digest.areSame(Array(parts[1].utf8), Array(sealOfKnown(id, mayChange: $0).utf8))
        }
        return right.map { (id, $0) }
    }

    private func sealOfKnown(_ id: String, mayChange: Bool) -> String {
        digest("known", (mayChange ? "operator " : "reader ") + id)
    }

    private func visitorCookie(_ id: String, for request: Request) -> String {
        "\(Self.visitorCookie)=\(id)" + attributes(for: request, seconds: SessionTable.lifetime.components.seconds)
    }

    private func attributes(for request: Request, seconds: Int64) -> String {
        // TLS ends in a proxy, which may not say so. The browser says where its form comes from.
        let isSecure =
            request.header("Origin")?.lowercased().hasPrefix("https://") ?? false
            || rules.proxy?.isOverTLS(request) ?? false
        return "; Path=/; HttpOnly; SameSite=Strict; Max-Age=\(seconds)" + (isSecure ? "; Secure" : "")
    }

    private static func randomID() -> String { SystemRandom.bytes(32).hexadecimal }

    /// A digest that only this run can compute. Hashed twice, which prevents length extension.
    private func digest(_ kind: String, _ text: String) -> String {
        let inner = Digest.sha256((secret + Array("\(kind):\(text)".utf8)).span.bytes)
        return Digest.sha256((secret + inner).span.bytes).hexadecimal
    }
}
