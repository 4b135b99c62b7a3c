import CarillonWeb

extension WebAccess {
    /// The answer to a request of nobody who may read.
    func challenge(_ request: Request) -> Response {
        if let reason = reasonAgainstLogin(of: request) {
            return ProblemDocument.refusal(of: request, 403, reason)
        }
        if request.wantsJSON {
            let hint = "POST the password to /login, and send the cookie."
            return ProblemDocument(status: 401, detail: "Log in first.", hint: hint).response
        }
        // The address of a form is not always that of a page.
        let link = request.method == "POST" ? Link.top() : Link(of: request) ?? Link.top()
        return Response.redirect(to: Link.top("login", query: ["next": link.text]))
    }
}
