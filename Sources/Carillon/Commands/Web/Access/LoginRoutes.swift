import CarillonWeb

/// Giving the password, and ending a session.
struct LoginRoutes: Sendable {
    let access: WebAccess

    var routes: [Route] {
        guard access.takesPassword else { return [] }
        return [
            Route(.get, "/login") { request in
                LoginRoutes.page(next: LoginRoutes.next(request.parameter("next")), complaint: nil, status: 200)
            },
            Route(.post, "/login") { request in logIn(request) },
            Route(.post, "/logout") { request in
                access.logOut(request)
                return Response.redirect(to: Link("login")).adding("Set-Cookie", WebAccess.cookie(nil, for: request))
            },
        ]
    }

    /// The answer to a request without a session.
    static func challenge(_ request: Request) -> Response {
        if request.wantsJSON {
            let answer: JSONValue = [
                "error": "Log in first.", "hint": "POST the password to /login, and send the cookie.",
            ]
            return Response(json: answer.text + "\n", status: 401)
        }
        var link = Link(sent: request.path) ?? Link()
        for (name, value) in request.query { link = link.with(name, value) }
        return Response.redirect(to: Link("login", query: ["next": link.text]))
    }

    private func logIn(_ request: Request) -> Response {
        let fields = FormFields.read(request.body) ?? []
        let next = Self.next(fields.first { $0.name == "next" }?.value)
        guard let password = fields.first(where: { $0.name == "password" })?.value else {
            return Self.page(next: next, complaint: "Give the password.", status: 400)
        }
        let name = fields.first { $0.name == "name" }?.value.withoutBlanks.prefix(60)
        switch access.logIn(with: password, name: name.flatMap { $0.isEmpty ? nil : String($0) }) {
        case .accepted(let id):
            return Response.redirect(to: next).adding("Set-Cookie", WebAccess.cookie(id, for: request))
        case .wrong:
            return Self.page(next: next, complaint: "This is not the password.", status: 403)
        case .tooMany:
            return Self.page(next: next, complaint: "There were too many attempts: wait a few seconds.", status: 429)
                .adding("Retry-After", "\(AttemptLimit.interval.components.seconds)")
        }
    }

    private static func next(_ text: String?) -> Link { text.flatMap { Link(sent: $0) } ?? Link() }

    private static func page(next: Link, complaint: String?, status: Int) -> Response {
        let page = HTML.document(language: "en") {
            PageFrame.head(title: "Log in · Carillon")
            HTML(.body, .class("login")) {
                HTML(.main, Attribute(.id, "main")) {
                    HTML(.h1) { "Carillon" }
                    if let complaint { HTML(.p, .class("complaint"), Attribute(.role, "alert")) { complaint } }
                    HTML(.form, .action(Link("login")), Attribute(.method, "post")) {
                        HTML(.label, Attribute(.for, "name")) { "Your name, for the record of changes" }
                        HTML(
                            .input,
                            Attribute(.id, "name"),
                            Attribute(.name, "name"),
                            Attribute(.maxlength, 60),
                            Attribute(.autocomplete, "username")
                        )
                        HTML(.label, Attribute(.for, "password")) { "Password" }
                        HTML(
                            .input,
                            Attribute(.id, "password"),
                            Attribute(.type, "password"),
                            Attribute(.name, "password"),
                            Attribute(.autocomplete, "current-password"),
                            Attribute(.required, isOn: true),
                            Attribute(.autofocus, isOn: true)
                        )
                        HTML(.input, Attribute(.type, "hidden"), Attribute(.name, "next"), Attribute(.value, next.text))
                        HTML(.button, Attribute(.type, "submit")) { "Log in" }
                    }
                }
            }
        }
        return Response(page: page, status: status)
    }
}
