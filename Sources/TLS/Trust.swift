import COpenSSL

/// Whom a client believes when a server shows its certificate. There is no way to believe everybody.
package enum Trust: Hashable, Sendable {
    /// The authorities that this machine trusts.
    case system
    /// The certificates in this PEM text, and nobody else.
    case pem(String)

    /// One for all contexts, since it may hold more than a hundred authorities. Safe, because nothing is set in it once it
    /// is made, and OpenSSL locks a store when handshakes look authorities up in it.
    private nonisolated(unsafe) static let systemStore: OpaquePointer = {
        guard let store = X509_STORE_new() else { preconditionFailure("out of memory") }
        X509_STORE_set_default_paths(store)
        ERR_clear_error()  // a machine without authorities is one where nobody is trusted
        return store
    }()

    func install(in context: OpaquePointer) throws(TLSError) {
        switch self {
        case .system:
            SSL_CTX_set1_cert_store(context, Self.systemStore)
        case .pem(let text):
            let roots = try Certificate.all(in: Array(text.utf8), what: "the trust root")
            let store = SSL_CTX_get_cert_store(context)
            for root in roots { X509_STORE_add_cert(store, root.pointer) }
            // A root given by name is trusted as it is, though an authority above it may have issued it.
            X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        }
    }
}
