import CarillonDashboard
import CarillonTLS
import CarillonWeb

extension WebAccess {
    /// The options that the initializer below reads.
    static let rights: [Option] = [
        .password, .operatorPassword, .localChanges, .trustedProxy, .userHeader, .operators, .publicHost, .showContents,
    ]

    private static let shortest = 8

    /// Derives from the options who may read and change. Throws if the dashboard would be open to other machines.
    convenience init(_ settings: Settings, to address: Address) throws(UsageError) {
        let (password, operatorPassword) = (settings.text(.password), settings.text(.operatorPassword))
        for text in [password, operatorPassword] {
            if let text, text.utf8.count < Self.shortest {
                throw UsageError(
                    "A password must have at least \(Self.shortest) characters: make one with 'openssl rand -base64 18'."
                )
            }
        }
        if let password, password == operatorPassword {
            throw UsageError(
                "Both passwords are the same, so readers could change everything: choose another one for operators."
            )
        }
        var proxies: Set<String> = []
        for text in settings.texts(.trustedProxy) {
            guard let address = ProxyTrust.address(text) else {
                throw UsageError("--trusted-proxy takes a numeric address, such as 10.0.0.2 or fd00::2, not '\(text)'.")
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
        let aboutProxies: [Option] = [.operators, .userHeader, .publicHost]
        if proxies.isEmpty, let option = aboutProxies.first(where: settings.isChosen) {
            throw UsageError("--\(option.flag) is about users that a proxy names: add --trusted-proxy.")
        }
        let hosts = try Self.publicHosts(settings)
        if hosts.isEmpty, let local = proxies.sorted().first(where: Address.isLoopback) {
            throw UsageError(
                "With --trusted-proxy \(local), any web page that is opened on this machine could reach the "
                    + "dashboard and name a user itself: add the host name under which users reach the proxy, such "
                    + "as --public-host dashboard.example.org."
            )
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
                        operators: Set(settings.texts(.operators)),
                        hosts: hosts
                    )
            )
        )
    }

    private static func publicHosts(_ settings: Settings) throws(UsageError) -> Set<String> {
        var hosts: Set<String> = []
        for text in settings.texts(.publicHost) {
            guard let host = HostName.given(text) else {
                throw UsageError(
                    "--public-host takes a name without a scheme, a port and a path, such as dashboard.example.org, "
                        + "not '\(text)'."
                )
            }
            hosts.insert(host)
        }
        return hosts
    }
}
