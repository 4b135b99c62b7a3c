/// A POST request to a server that nobody has to trust.
package struct HTTPPost: Sendable {
    package let url: String
    /// Without line ends in names and values.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// Root certificates as PEM; nil: those that the system trusts.
    package let roots: String?
    /// Whether it may be sent to addresses of this machine and of private networks.
    package let allowsPrivate: Bool
    /// For all of it, with the look-up of the name.
    package let timeout: Duration

    package init(
        to url: String,
        headers: [(name: String, value: String)],
        body: [UInt8],
        roots: String?,
        allowsPrivate: Bool,
        timeout: Duration
    ) {
        self.url = url
        self.headers = headers
        self.body = body
        self.roots = roots
        self.allowsPrivate = allowsPrivate
        self.timeout = timeout
    }
}
