import CarillonWeb

/// The routes for logging in and out.
struct LoginRoutes: Sendable {
    let access: WebAccess
    let observer: DashboardConfiguration.Observer

    var routes: [Route] {
        guard access.takesPassword else { return [] }
        return [
            Route(.get, "/login") { request in
                LoginRoutes.page(next: LoginForm.page(request.parameter("next")), complaint: nil, status: 200)
            },
            Route(.post, "/login") { request in await logIn(request) },
            Route(.post, "/logout") { request in
                access.logOut(request)
                return Response.redirect(to: Link.top("login")).adding(
                    "Set-Cookie",
                    access.cookie(nil, for: request)
                )
            },
        ]
    }

    private func logIn(_ request: Request) async -> Response {
        let form = LoginForm(request.body)
        guard let password = form.password else {
            return Self.refusal(of: request, form.next, .badRequest, "Enter the password.")
        }
        switch await access.logIn(request, with: password, name: form.name) {
        case .accepted(let id, let mayChange):
            return Response.redirect(to: form.next)
                .adding("Set-Cookie", access.cookie(id, for: request))
                .adding("Set-Cookie", access.knownCookie(mayChange: mayChange, for: request))
        case .wrong:
            observer(.loginFailed(request))
            return Self.refusal(of: request, form.next, .forbidden, "The password is wrong.")
        case .tooMany:
            observer(.loginRefused(request))
            return Self.refusal(of: request, form.next, .tooManyRequests, "Too many attempts: wait a few seconds.")
                .adding("Retry-After", "\(AttemptLimit().interval.components.seconds)")
        }
    }

    private static func refusal(of request: Request, _ next: Link, _ status: ProblemStatus, _ complaint: String)
        -> Response
    {
        request.wantsJSON
            ? RequestError(status: status, detail: complaint).document
            : page(next: next, complaint: complaint, status: status.rawValue)
    }

    private static func page(next: Link, complaint: String?, status: Int) -> Response {
        let page = HTML.document(language: "en") {
            PageFrame.head(title: "Log in · Carillon")
            HTML(.body, .class("login")) {
                HTML(.main, Attribute(.id, "main")) {
                    HTML(.h1) { "Carillon" }
                    if let complaint { HTML(.p, .class("complaint"), Attribute(.role, "alert")) { complaint } }
                    HTML(.form, .action(Link.top("login")), Attribute(.method, "post")) {
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
