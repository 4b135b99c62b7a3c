import CarillonTLS

extension WebAccess {
    /// The options that the initializer below reads.
    static let rights: [Option] = [
        .password, .operatorPassword, .localChanges, .trustedProxy, .userHeader, .operators, .showContents,
    ]

    private static let shortest = 8

    /// Who may read and change, as the options say. Throws if the dashboard would be open to other machines.
    convenience init(_ settings: Settings, to address: Address) throws(UsageError) {
        let (password, operatorPassword) = (settings.text(.password), settings.text(.operatorPassword))
        for text in [password, operatorPassword] {
            if let text, text.utf8.count < Self.shortest {
                throw UsageError(
                    "A password has \(Self.shortest) characters at least: make one with 'openssl rand -base64 18'."
                )
            }
        }
        if let password, password == operatorPassword {
            throw UsageError("The two passwords are one: readers could change everything. Make another for operators.")
        }
        var proxies: Set<String> = []
        for text in settings.texts(.trustedProxy) {
            guard let address = ProxyTrust.address(text) else {
                throw UsageError(
                    "--trusted-proxy takes a numeric address, such as 10.0.0.2 or fd00::2, and '\(text)' is none."
                )
            }
            proxies.insert(address)
        }
        let isOpen = !Address.isLoopback(address.host)
        guard !isOpen || password != nil || operatorPassword != nil || !proxies.isEmpty else {
            throw UsageError(
                "With --http \(address), other machines could read the dashboard: set a password, and name its file with "
                    + "--password-file, or name the proxy that lets users in with --trusted-proxy."
            )
        }
        if settings.isOn(.localChanges), isOpen || password != nil {
            throw UsageError(
                "--local-changes is for a dashboard that only this machine reaches and that has no --password-file: use "
                    + "--operator-password-file."
            )
        }
        if proxies.isEmpty, settings.isChosen(.operators) || settings.isChosen(.userHeader) {
            throw UsageError("--operator and --user-header are about users that a proxy names: add --trusted-proxy.")
        }
        self.init(
            Rules(
                password: password.map { DerivedPassword($0) },
                operatorPassword: operatorPassword.map { DerivedPassword($0) },
                isOpenToOthers: isOpen,
                letsMachineChange: settings.isOn(.localChanges),
                contents: settings.text(.showContents).flatMap(ContentRight.init) ?? .nobody,
                proxy: proxies.isEmpty
                    ? nil
                    : ProxyTrust(
                        addresses: proxies,
                        header: settings.text(.userHeader) ?? "",
                        operators: Set(settings.texts(.operators))
                    )
            )
        )
    }
}
