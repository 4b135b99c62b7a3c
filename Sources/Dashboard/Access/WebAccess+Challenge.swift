import CarillonWeb

extension WebAccess {
    /// The response to a request that may not read anything.
    func challenge(_ request: Request) -> Response {
        if let reason = reasonAgainstLogin(of: request) {
            return RequestError.refusal(of: request, 403, reason)
        }
        if request.wantsJSON {
            let hint = "POST the password to /login, and send the cookie."
            return RequestError(status: 401, detail: "Log in first.", hint: hint).document
        }
        // The address that a form is sent to is not always the address of a page.
        let link = request.method == "POST" ? Link.top() : Link(of: request) ?? Link.top()
        return Response.redirect(to: Link.top("login", query: ["next": link.text]))
    }
}
