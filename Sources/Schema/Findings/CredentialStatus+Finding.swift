import CarillonText

/// Finds a credential with which no push is sent, or soon none will be.
extension CredentialStatus {
    /// In days.
    private static let urgent: Int64 = 7

    /// - Parameters:
    ///   - seconds: until it expires.
    ///   - error: why it is rejected or invalid.
    ///   - isUsed: whether an app has it.
    package func finding(of name: String, expiresIn seconds: Int64?, error: String?, isUsed: Bool = true) -> Finding? {
        let command = "'carillon credential import \(name.shellQuoted) --file FILE'"
        let renewal = "Import a new one under the same name: \(command). Workers use it within seconds."
        switch self {
        // The app that has none is found.
        case .ok, .missing: return nil
        case .expiring:
            let days = (seconds ?? 0) / 86_400
            return Finding(
                .credentials,
                days < Self.urgent ? .critical : .warning,
                "Credential \(name) expires in \(Counted.text(days, "day")).",
                remedy: renewal
            )
        case .expired where !isUsed:
            return Finding(
                .credentials,
                .warning,
                "Credential \(name) has expired, and no app uses it.",
                remedy: "Remove it: 'carillon credential remove \(name.shellQuoted)'."
            )
        case .expired: return Finding(.credentials, .critical, "Credential \(name) has expired.", remedy: renewal)
        case .rejected, .invalid:
            return Finding(
                .credentials,
                .critical,
                "Credential \(name) is \(rawValue)\(error.map { ": \($0)" } ?? "")".asSentence,
                remedy: renewal
            )
        }
    }
}
