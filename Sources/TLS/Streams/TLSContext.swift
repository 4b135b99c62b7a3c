import CarillonCOpenSSL

/// The settings that the connections of a credential share: certificate, trust and protocols. TLS 1.2 or later, without
/// renegotiation, compression or session resumption, because connections are long-lived.
package final class TLSContext: Sendable {
    /// Whether a server asks its clients for certificates.
    package enum ClientCertificates: Hashable, Sendable {
        /// It asks for no certificate.
        case ignored
        /// It asks, but a client may have none. Expired certificates are refused and, if an authority (PEM) is given, so are
        /// certificates that it did not issue.
        case requested(authority: String? = nil)
        /// The same, but a client without a certificate is refused.
        case required(authority: String? = nil)
    }

    /// Safe, because its settings do not change after `client` or `server` has returned it, and OpenSSL locks what creating streams
    /// changes.
    nonisolated(unsafe) let pointer: OpaquePointer
    /// The application protocols, in order of preference; if empty, none is negotiated.
    package let alpn: [String]
    let isServer: Bool
    let hasIdentity: Bool
    /// Whether a handshake without a common application protocol fails.
    let requiresProtocol: Bool
    /// The protocols as TLS encodes them, each preceded by its length.
    private let alpnBytes: [UInt8]

    /// - Parameter requiresProtocol: Whether to refuse servers that agree on none of the protocols.
    package static func client(
        identity: Identity? = nil,
        trust: Trust = .system,
        alpn: [String] = [],
        requiresProtocol: Bool = true
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(false, identity, alpn, requiresProtocol)
        SSL_CTX_set_verify(context.pointer, SSL_VERIFY_PEER, nil)
        try trust.install(in: context.pointer)
        if !alpn.isEmpty {
            // Zero is success, unlike in OpenSSL's other functions.
            let result = SSL_CTX_set_alpn_protos(context.pointer, context.alpnBytes, UInt32(context.alpnBytes.count))
            guard result == 0 else { throw TLSError(.other, "the protocol names \(alpn) are not usable in TLS") }
        }
        return context
    }

    /// - Parameter requiresProtocol: Whether to refuse clients that offer none of these protocols, or no protocol at all.
    package static func server(
        identity: Identity,
        clients: ClientCertificates = .ignored,
        alpn: [String] = [],
        requiresProtocol: Bool = true
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(true, identity, alpn, requiresProtocol)
        try context.ask(clients)
        SSL_CTX_set_alpn_select_cb(
            context.pointer,
            { _, chosen, chosenLength, offered, offeredLength, user in
                guard let user, let chosen, let chosenLength else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                let context = Unmanaged<TLSContext>.fromOpaque(user).takeUnretainedValue()
                let ours = context.alpnBytes
                guard !ours.isEmpty else { return SSL_TLSEXT_ERR_NOACK }
                // The result points into the client's list, which outlives the call.
                var pointer: UnsafeMutablePointer<UInt8>?
                let count = UInt32(ours.count)
                guard
                    SSL_select_next_proto(&pointer, chosenLength, offered, offeredLength, ours, count)
                        == OPENSSL_NPN_NEGOTIATED
                else {
                    return context.requiresProtocol ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK
                }
                chosen.pointee = UnsafePointer(pointer)
                return SSL_TLSEXT_ERR_OK
            },
            // Called only during the handshake of a stream, which keeps its context alive.
            Unmanaged.passUnretained(context).toOpaque()
        )
        return context
    }

    private init(
        _ isServer: Bool,
        _ identity: Identity?,
        _ alpn: [String] = [],
        _ requiresProtocol: Bool = true
    ) throws(TLSError) {
        ERR_clear_error()
        guard let pointer = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw TLSError(.other, "TLS could not be set up: \(OpenSSLErrors.take().text)")
        }
        self.pointer = pointer
        self.isServer = isServer
        hasIdentity = identity != nil
        self.alpn = alpn
        self.requiresProtocol = requiresProtocol && !alpn.isEmpty
        alpnBytes = alpn.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) }

        COpenSSL_SSL_CTX_set_min_proto_version(pointer, TLS1_2_VERSION)
        let options = COpenSSL_SSL_OP_NO_RENEGOTIATION | COpenSSL_SSL_OP_NO_TICKET
        SSL_CTX_set_options(pointer, options | (isServer ? COpenSSL_SSL_OP_CIPHER_SERVER_PREFERENCE : 0))
        SSL_CTX_set_num_tickets(pointer, 0)
        COpenSSL_SSL_CTX_set_session_cache_mode(pointer, Int(SSL_SESS_CACHE_OFF))
        // An array may move between two attempts to write it. Releasing the buffers of an idle connection halves its memory (31 KB
        // to 16 KB) at the cost of 0.1 microseconds per record.
        let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS
        COpenSSL_SSL_CTX_set_mode(pointer, Int(mode))
        // Reads several records with one system call instead of two calls per record: writing and reading a small record takes 2.8
        // instead of 4.4 microseconds.
        COpenSSL_SSL_CTX_set_read_ahead(pointer, 1)
        if let identity { try use(identity) }
    }

    deinit { SSL_CTX_free(pointer) }

    /// Throws if OpenSSL, at this machine's security level, cannot use the identity.
    static func check(_ identity: Identity) throws(TLSError) { _ = try TLSContext(false, identity) }

    private func use(_ identity: Identity) throws(TLSError) {
        ERR_clear_error()
        guard SSL_CTX_use_certificate(pointer, identity.certificate.pointer) == 1,
            SSL_CTX_use_PrivateKey(pointer, identity.key.pointer) == 1
        else {
            let reason = OpenSSLErrors.take().text
            throw TLSError(
                .unsupportedKey,
                "the \(identity.key.name) of \(identity.leaf.subject) cannot be used for TLS (\(reason)): get a "
                    + "certificate for a key of RSA 2048 bits or P-256"
            )
        }
        for certificate in identity.chain
        where COpenSSL_SSL_CTX_add1_chain_cert(pointer, certificate.pointer) != 1 {
            let reason = OpenSSLErrors.take().text
            throw TLSError(
                .unsupportedKey,
                "the certificate of \(CertificateFacts(certificate).subject), in the chain of "
                    + "\(identity.leaf.subject), cannot be used for TLS (\(reason)): leave it out, or get a newer one"
            )
        }
    }

    private func ask(_ clients: ClientCertificates) throws(TLSError) {
        let authority: String?
        switch clients {
        case .ignored:
            return
        case .requested(let text):
            authority = text
            SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        case .required(let text):
            authority = text
            SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        guard let authority else {
            // Accept any certificate: the server checks it itself. Only expiry is checked here, so that the client gets the right
            // alert.
            SSL_CTX_set_cert_verify_callback(
                pointer,
                { verification, _ in
                    guard let leaf = X509_STORE_CTX_get0_cert(verification),
                        X509_cmp_current_time(X509_get0_notAfter(leaf)) < 0
                    else { return 1 }
                    X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_HAS_EXPIRED)
                    return 0
                },
                nil
            )
            return
        }
        try Trust.pem(authority).install(in: pointer)
        let names = COpenSSL_sk_X509_NAME_new_null()
        for certificate in try Certificate.all(in: Array(authority.utf8), what: "the clients' authority") {
            COpenSSL_sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(certificate.pointer)))
        }
        SSL_CTX_set_client_CA_list(pointer, names)
    }
}
