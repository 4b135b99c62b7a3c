import CarillonWeb

extension WebAccess {
    /// The response to a request that may not read anything.
    func challenge(_ request: Request) -> Response {
        if let refusal = refusalOfLogin(request) { return refusal.response(to: request) }
        if request.wantsJSON {
            let hint = "POST the password to /login, and send the cookie."
            return RequestError(status: .unauthorized, detail: "Log in first.", hint: hint).document
        }
        // The address that a form is sent to is not always the address of a page.
        let link = request.method == "POST" ? Link.top() : Link(of: request) ?? Link.top()
        return Response.redirect(to: Link.top("login", query: ["next": link.text]))
    }
}
