import CarillonCOpenSSL
package import CarillonIO
import Glibc

/// A TLS connection over a socket that it owns. It never waits; its methods return what the descriptor must be ready for.
///
/// It reads ahead from the kernel. Read until `wantsRead` before waiting for the descriptor, which does not become readable for
/// bytes that are already buffered here.
///
/// `@unchecked`, because an `SSL` is not tied to a thread and this struct is its only owner. Every method that changes it is
/// `mutating` and so has exclusive access; the others only read what the handshake has fixed.
package struct TLSStream: ~Copyable, @unchecked Sendable {
    private let ssl: OpaquePointer
    private let context: TLSContext
    private let socket: Socket
    /// The peer's name in errors.
    let peer: String
    private var hasFailed = false

    /// The client's side; the server's certificate must be for `host`, a name or a numeric address.
    package init(client context: TLSContext, host: String, socket: consuming Socket) throws(TLSError) {
        ssl = try Self.makeSession(context, over: socket.descriptor, expecting: host)
        self.context = context
        self.socket = socket
        peer = host
    }

    package init(server context: TLSContext, socket: consuming Socket) throws(TLSError) {
        ssl = try Self.makeSession(context, over: socket.descriptor, expecting: nil)
        self.context = context
        self.socket = socket
        peer = "the client"
    }

    deinit { SSL_free(ssl) }

    package var descriptor: CInt { socket.descriptor }

    /// How many written bytes, counted as encrypted, the peer's host has not acknowledged.
    package var unacknowledged: Int { socket.unacknowledged }

    /// The application protocol that was negotiated.
    package var alpn: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(ssl, &start, &count)
        guard let start, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    /// As in "TLSv1.3".
    package var version: String { String(cString: SSL_get_version(ssl)) }

    package var peerCertificate: CertificateFacts? {
        SSL_get1_peer_certificate(ssl).map { CertificateFacts(Certificate(owning: $0)) }
    }

    /// Continues the handshake as far as possible without waiting. Returns what to wait for; nil if the handshake is complete.
    package mutating func handshake() throws(TLSError) -> Interest? {
        ERR_clear_error()
        errno = 0
        let result = SSL_do_handshake(ssl)
        if result != 1 { return try interest(SSL_get_error(ssl, result), during: .handshake) }
        guard !context.requiresProtocol || alpn != nil else {
            hasFailed = true
            let names = context.alpn.joined(separator: " or ")
            if context.isServer {
                throw TLSError(.noProtocol, "\(peer) offered no application protocol (ALPN), and \(names) is required")
            }
            throw TLSError(.noProtocol, "\(peer) did not agree to speak \(names): is it the right host and port?")
        }
        return nil
    }

    /// Reads into the front of the array, which keeps its size. Throws `truncated` if the stream ends without a close_notify.
    package mutating func read(into bytes: inout [UInt8]) throws(TLSError) -> ReadResult {
        ERR_clear_error()
        errno = 0
        var count = 0
        let result = bytes.withUnsafeMutableBytes { SSL_read_ex(ssl, $0.baseAddress, $0.count, &count) }
        if result == 1 { return .bytes(count) }
        let kind = SSL_get_error(ssl, result)
        if kind == SSL_ERROR_ZERO_RETURN { return .closed }
        return try interest(kind, during: .reading) == .read ? .wantsRead : .wantsWrite
    }

    /// Writes as much as the socket takes.
    package mutating func write(_ bytes: RawSpan) throws(TLSError) -> WriteResult {
        guard bytes.byteCount > 0 else { return .bytes(0) }
        ERR_clear_error()
        errno = 0
        var count = 0
        let result = bytes.withUnsafeBytes { SSL_write_ex(ssl, $0.baseAddress, $0.count, &count) }
        if result == 1 { return .bytes(count) }
        return try interest(SSL_get_error(ssl, result), during: .writing) == .read ? .wantsRead : .wantsWrite
    }

    /// Sends a close_notify if the socket has room for it, and does not wait for the peer's.
    package mutating func closeNotify() {
        guard !hasFailed, SSL_in_init(ssl) == 0 else { return }
        SSL_shutdown(ssl)
        ERR_clear_error()
    }

    /// See ``Socket/resetWhenClosed()``.
    package func resetWhenClosed() { socket.resetWhenClosed() }

    private static func makeSession(
        _ context: TLSContext,
        over descriptor: CInt,
        expecting host: String?
    ) throws(TLSError) -> OpaquePointer {
        precondition(context.isServer == (host == nil), "a context is for clients or for servers")
        ERR_clear_error()
        guard let ssl = SSL_new(context.pointer), let bio = SocketBIO.make(over: descriptor) else {
            preconditionFailure("out of memory")
        }
        SSL_set_bio(ssl, bio, bio)  // one reference serves both directions
        guard let host else {
            SSL_set_accept_state(ssl)
            return ssl
        }
        guard expect(host, from: ssl) else {
            SSL_free(ssl)
            throw TLSError(.wrongHostName, "\(host) is not a host name that a certificate could carry")
        }
        SSL_set_connect_state(ssl)
        return ssl
    }

    /// Requires a certificate for this name or address, and sends the name to the server (SNI).
    private static func expect(_ host: String, from ssl: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        var name = host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host[...]
        if name.hasSuffix(".") { name = name.dropLast() }
        let bare = String(name)
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), bare) == 1 { return true }
        // Only subject alternative names count, not the subject's common name (RFC 9525).
        let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
        SSL_set_hostflags(ssl, UInt32(flags))
        return !bare.isEmpty && SSL_set1_host(ssl, bare) == 1 && COpenSSL_SSL_set_tlsext_host_name(ssl, bare) == 1
    }

    /// What to wait for.
    private mutating func interest(_ kind: CInt, during phase: TLSFailure.Phase) throws(TLSError) -> Interest {
        switch kind {
        case SSL_ERROR_WANT_READ: .read
        case SSL_ERROR_WANT_WRITE: .write
        default: throw failure(kind, during: phase)
        }
    }

    private mutating func failure(_ kind: CInt, during phase: TLSFailure.Phase) -> TLSError {
        let number = errno
        hasFailed = true
        return TLSFailure(
            phase: phase,
            peer: peer,
            isServer: context.isServer,
            showsCertificate: context.hasIdentity,
            isSystem: kind == SSL_ERROR_SYSCALL,
            errno: number,
            errors: .take(),
            verification: SSL_get_verify_result(ssl)
        ).error
    }
}
