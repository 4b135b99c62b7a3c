/// A database's label in logs and metrics: its host and name, without user or password.
package enum DatabaseLabel {
    package static func of(_ text: String) -> String {
        guard let string = try? ConnectionString(text) else { return "?" }
        let host = string.value("host", "PGHOST") ?? string.value("hostaddr", "PGHOSTADDR") ?? "local"
        let port = string.value("port", "PGPORT").flatMap { $0 == "5432" ? nil : ":\($0)" } ?? ""
        let name = string.value("dbname", "PGDATABASE") ?? string.value("user", "PGUSER") ?? ""
        return "\(host)\(port)/\(name)"
    }

    /// The same, without labels if there is only one database.
    package static func ifSeveral(_ texts: [String]) -> [String?] {
        texts.count > 1 ? of(texts) : texts.map { _ in nil }
    }

    /// Labels in the order of the texts. Equal labels get their position appended, and so do those that might be equal then.
    package static func of(_ texts: [String]) -> [String] {
        let labels = texts.map { Self.of($0) }
        return labels.enumerated().map { index, label in
            labels.count { $0 == label } > 1 || label.contains("#") ? "\(label)#\(index + 1)" : label
        }
    }
}
