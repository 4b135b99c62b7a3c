/// The host names in requests from browsers.
package enum HostName {
    /// The name in a `Host` header, in lower case and without the port.
    package static func of(_ authority: String) -> String {
        let name = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        return name.lowercased()
    }

    /// The name in an `Origin` header; nil if it names no site.
    package static func of(origin: String) -> String? {
        let scheme = ["https://", "http://"].first { origin.hasPrefix($0) }
        return scheme.map { of(String(origin.dropFirst($0.count))) }
    }

    /// Whether the request comes from a page of this host and port.
    package static func isOrigin(_ origin: String, of host: String?) -> Bool {
        host.map { origin == "http://" + $0 || origin == "https://" + $0 } ?? false
    }

    /// A host name given in an option; nil if the text has a scheme, a port or a path.
    package static func given(_ text: String) -> String? {
        let isPlain = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._[]:".contains($0)) }
        guard !text.isEmpty, isPlain, of(text) == text.lowercased() else { return nil }
        return of(text)
    }

    /// Whether a browser on this machine would use this name for it.
    package static func isLocal(_ name: String) -> Bool { name == "[::1]" || Address.isLoopback(name) }
}
