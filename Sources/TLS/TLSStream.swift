import COpenSSL
import Glibc
package import IO

/// A TLS connection over a socket that it owns. It never waits: it says what the descriptor must be ready for.
///
/// It reads more from the kernel than it hands out at once, so read until `wantsRead` before waiting for the
/// descriptor, which may not become readable again for what is here already.
///
/// `@unchecked`, because an `SSL` belongs to no thread, and this struct is its only owner. Every method that changes it is
/// `mutating`, so that nobody else has the struct meanwhile; the others only read what the handshake has fixed.
package struct TLSStream: ~Copyable, @unchecked Sendable {
    private let ssl: OpaquePointer
    private let context: TLSContext
    private let socket: Socket
    /// Who the peer is, for sentences.
    let peer: String
    private var hasFailed = false

    /// The client's side; `host` is whom the server must prove to be: a name, or an address in figures.
    package init(client context: TLSContext, host: String, socket: consuming Socket) throws(TLSError) {
        self.ssl = try Self.makeSession(context, over: socket.descriptor, expecting: host)
        self.context = context
        self.socket = socket
        self.peer = host
    }

    package init(server context: TLSContext, socket: consuming Socket) throws(TLSError) {
        self.ssl = try Self.makeSession(context, over: socket.descriptor, expecting: nil)
        self.context = context
        self.socket = socket
        self.peer = "the client"
    }

    deinit {
        SSL_free(self.ssl)
    }

    package var descriptor: CInt { self.socket.descriptor }

    /// The application protocol that both agreed on.
    package var alpn: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(self.ssl, &start, &count)
        guard let start, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    /// As in "TLSv1.3".
    package var version: String { String(cString: SSL_get_version(self.ssl)) }

    package var peerCertificate: CertificateFacts? {
        SSL_get1_peer_certificate(self.ssl).map { CertificateFacts(Certificate(owning: $0)) }
    }

    /// Goes on with the handshake as far as it gets. Where protocols are offered, one must come of it.
    package mutating func handshake() throws(TLSError) -> Readiness {
        ERR_clear_error()
        errno = 0
        let result = SSL_do_handshake(self.ssl)
        if result != 1 {
            switch SSL_get_error(self.ssl, result) {
            case SSL_ERROR_WANT_READ: return .wantsRead
            case SSL_ERROR_WANT_WRITE: return .wantsWrite
            case let kind: throw self.failure(kind, during: .handshake)
            }
        }
        guard !self.context.requiresProtocol || self.alpn != nil else {
            self.hasFailed = true
            let names = self.context.alpn.joined(separator: " or ")
            if self.context.isServer {
                throw TLSError(
                    .noProtocol,
                    "\(self.peer) offered no application protocol (ALPN), and \(names) is required"
                )
            }
            throw TLSError(.noProtocol, "\(self.peer) did not agree to speak \(names): is it the right host and port?")
        }
        return .done
    }

    /// Reads into the front of the array, which keeps its size. An end that TLS was not told of throws `truncated`.
    package mutating func read(into bytes: inout [UInt8]) throws(TLSError) -> ReadResult {
        ERR_clear_error()
        errno = 0
        var count = 0
        let result = bytes.withUnsafeMutableBytes { SSL_read_ex(self.ssl, $0.baseAddress, $0.count, &count) }
        if result == 1 { return .bytes(count) }
        switch SSL_get_error(self.ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .closed
        case let kind: throw self.failure(kind, during: .reading)
        }
    }

    /// Writes what the socket takes, which may be a part.
    package mutating func write(_ bytes: RawSpan) throws(TLSError) -> WriteResult {
        guard bytes.byteCount > 0 else { return .bytes(0) }
        ERR_clear_error()
        errno = 0
        var count = 0
        let result = bytes.withUnsafeBytes { SSL_write_ex(self.ssl, $0.baseAddress, $0.count, &count) }
        if result == 1 { return .bytes(count) }
        switch SSL_get_error(self.ssl, result) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case let kind: throw self.failure(kind, during: .writing)
        }
    }

    /// Tells the peer that nothing more will come, as far as the socket takes it; nothing waits for an answer.
    package mutating func closeNotify() {
        guard !self.hasFailed, SSL_in_init(self.ssl) == 0 else { return }
        SSL_shutdown(self.ssl)
        ERR_clear_error()
    }

    /// Has the kernel reset the connection when the stream goes, instead of ending it politely.
    package func resetWhenClosed() {
        self.socket.resetWhenClosed()
    }

    private static func makeSession(
        _ context: TLSContext,
        over descriptor: CInt,
        expecting host: String?
    ) throws(TLSError) -> OpaquePointer {
        precondition(context.isServer == (host == nil), "a context for clients makes no server, nor the other way")
        ERR_clear_error()
        guard let ssl = SSL_new(context.pointer), let bio = SocketBIO.make(over: descriptor) else {
            preconditionFailure("out of memory")
        }
        SSL_set_bio(ssl, bio, bio)  // which takes the one reference for both
        guard let host else {
            SSL_set_accept_state(ssl)
            return ssl
        }
        guard self.expect(host, from: ssl) else {
            SSL_free(ssl)
            throw TLSError(.wrongHostName, "\(host) is not a host name that a certificate could carry")
        }
        SSL_set_connect_state(ssl)
        return ssl
    }

    /// Has the chain checked for this name or address, and the server told the name.
    private static func expect(_ host: String, from ssl: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        var name = host.hasPrefix("[") && host.hasSuffix("]") ? host.dropFirst().dropLast() : host[...]
        if name.hasSuffix(".") { name = name.dropLast() }
        let bare = String(name)
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), bare) == 1 { return true }
        // Only the names that the authority vouched for as such count; the subject's common name is no such name (RFC 9525).
        let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
        SSL_set_hostflags(ssl, UInt32(flags))
        return !bare.isEmpty && SSL_set1_host(ssl, bare) == 1 && COpenSSL_SSL_set_tlsext_host_name(ssl, bare) == 1
    }

    private mutating func failure(_ kind: CInt, during phase: TLSFailure.Phase) -> TLSError {
        let number = errno
        self.hasFailed = true
        let failure = TLSFailure(
            phase: phase,
            peer: self.peer,
            isServer: self.context.isServer,
            showsCertificate: self.context.hasIdentity,
            isSystem: kind == SSL_ERROR_SYSCALL,
            errno: number,
            errors: .take(),
            verification: SSL_get_verify_result(self.ssl)
        )
        return failure.error
    }
}
