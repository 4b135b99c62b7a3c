import TLS

/// What connections may be shared by: they lead to the same address, prove the same, and trust the same.
struct PoolKey: Hashable {
    private let gateway: Gateway
    private let credential: [UInt8]

    init(_ gateway: Gateway, _ credential: Credential) {
        self.gateway = gateway
        self.credential = credential.digest
    }

    func isOf(_ credential: Credential) -> Bool { self.credential == credential.digest }
}

extension Gateway.Trust {
    var roots: TLS.Trust {
        switch self {
        case .system: .system
        case .pem(let text): .pem(text)
        }
    }
}
