import CarillonCOpenSSL

/// The roots that a server's certificate must lead to. Verification cannot be turned off.
package enum Trust: Hashable, Sendable {
    /// The authorities that this machine trusts.
    case system
    /// The certificates in this PEM text, and no others.
    case pem(String)

    /// Shared by all contexts, because it may contain more than a hundred authorities. Safe, because nothing changes its settings
    /// after creation, and OpenSSL locks a store when handshakes look up authorities in it.
    private nonisolated(unsafe) static let systemStore: OpaquePointer = {
        guard let store = X509_STORE_new() else { preconditionFailure("out of memory") }
        X509_STORE_set_default_paths(store)
        ERR_clear_error()  // without authorities on the machine, no server is trusted
        return store
    }()

    func install(in context: OpaquePointer) throws(TLSError) {
        switch self {
        case .system:
            SSL_CTX_set1_cert_store(context, Self.systemStore)
        case .pem(let text):
            let roots = try Certificate.all(in: Array(text.utf8), what: "the root certificate")
            let store = SSL_CTX_get_cert_store(context)
            for root in roots { X509_STORE_add_cert(store, root.pointer) }
            // A given root is trusted as is, even if another authority issued it.
            X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        }
    }
}
