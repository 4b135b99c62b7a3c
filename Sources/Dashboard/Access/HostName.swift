import CarillonWeb

/// The names by which browsers ask for a dashboard.
package enum HostName {
    /// Of a `Host` header: without its port, in small letters.
    static func of(_ authority: String) -> String {
        let name = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
        return name.lowercased()
    }

    /// Of an `Origin` header; nil: it names no site.
    static func of(origin: String) -> String? {
        let scheme = ["https://", "http://"].first { origin.hasPrefix($0) }
        return scheme.map { of(String(origin.dropFirst($0.count))) }
    }

    /// Whether a page of this site, and of this port, sent the request.
    static func isOrigin(_ origin: String, of host: String?) -> Bool {
        host.map { origin == "http://" + $0 || origin == "https://" + $0 } ?? false
    }

    /// A name as an option gives it; nil: it has a scheme, a port or a path.
    package static func given(_ text: String) -> String? {
        let isPlain = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-._[]:".contains($0)) }
        guard !text.isEmpty, isPlain, of(text) == text.lowercased() else { return nil }
        return of(text)
    }

    /// As a browser on this machine names it.
    static func isLocal(_ name: String) -> Bool { name == "[::1]" || Address.isLoopback(name) }
}
