/// A request to a server that nobody has to trust.
package struct HTTPRequest: Sendable {
    package let url: String
    /// Without line ends in names and values.
    package let headers: [(name: String, value: String)]
    /// Of a POST request; nil: it is a GET request.
    package let body: [UInt8]?
    /// Root certificates as PEM; nil: those that the system trusts.
    package let roots: String?
    /// Whether it may be sent to addresses of this machine and of private networks.
    package let allowsPrivate: Bool
    /// For all of it, with the look-up of the name.
    package let timeout: Duration
    /// How long the body of the answer may be, as it is once nothing of it is compressed; a longer one ends the request. With 0, the
    /// body does not matter.
    package let maxAnswerBytes: Int

    package init(
        to url: String,
        headers: [(name: String, value: String)] = [],
        body: [UInt8]? = nil,
        roots: String? = nil,
        allowsPrivate: Bool,
        timeout: Duration,
        maxAnswerBytes: Int = 0
    ) {
        self.url = url
        self.headers = headers
        self.body = body
        self.roots = roots
        self.allowsPrivate = allowsPrivate
        self.timeout = timeout
        self.maxAnswerBytes = maxAnswerBytes
    }
}
