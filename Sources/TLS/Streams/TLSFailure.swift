import CarillonCOpenSSL
import CarillonIO

/// Translates a failure that OpenSSL reports into a `TLSError`.
struct TLSFailure {
    enum Phase: String {
        case handshake = "the TLS handshake"
        case reading = "reading"
        case writing = "writing"
    }

    let phase: Phase
    let peer: String
    let isServer: Bool
    /// Whether this side has a certificate, which it shows if the peer asks.
    let showsCertificate: Bool
    /// Whether the system call failed rather than TLS.
    let isSystem: Bool
    let errno: CInt
    let errors: OpenSSLErrors
    let verification: Int

    var error: TLSError {
        if isSystem { return broken }
        guard let last = errors.entries.last(where: { $0.library == ERR_LIB_SSL }) else {
            return TLSError(.other, "\(phase.rawValue) with \(peer) failed: \(errors.text)")
        }
        if last.reason > SSL_AD_REASON_OFFSET { return rejection(UInt8(clamping: last.reason - SSL_AD_REASON_OFFSET)) }
        switch last.reason {
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            return distrust
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            return truncation
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return TLSError(.untrusted, "\(peer) presented no certificate, and one is required")
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_WRONG_SSL_VERSION:
            return TLSError(.notTLS, "\(peer) does not speak TLS on this port: check the host and the port")
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW:
            return TLSError(.notTLS, "\(peer) supports only TLS versions older than 1.2, which are no longer secure")
        case SSL_R_NO_APPLICATION_PROTOCOL:
            return TLSError(.noProtocol, "\(peer) offered no application protocol that this program supports")
        default:
            return TLSError(.other, "\(phase.rawValue) with \(peer) failed: \(errors.text)")
        }
    }

    private var broken: TLSError {
        guard errno != 0 else { return truncation }
        return TLSError(IOError(errno: errno, doing: "\(phase.rawValue) with \(peer)"))
    }

    private var truncation: TLSError {
        let sentence =
            phase == .handshake
            ? "\(peer) closed the connection during the TLS handshake"
            : "\(peer) closed the connection without ending TLS: what it was sending may be incomplete"
        return TLSError(.truncated, sentence)
    }

    private var distrust: TLSError {
        let reason = String(cString: X509_verify_cert_error_string(verification))
        switch CInt(truncatingIfNeeded: verification) {
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            return TLSError(
                .wrongHostName,
                "the server's certificate is not for \(peer): connect by the name that it was issued for"
            )
        case X509_V_ERR_CERT_HAS_EXPIRED:
            return TLSError(.expired, "the certificate of \(peer) has expired: its owner must renew it")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            return TLSError(.notYetValid, "the certificate of \(peer) is not valid yet: check this machine's clock")
        default:
            let advice =
                isServer
                ? "its certificate must be issued by the authority that this server knows"
                : "give the root of its authority, or install the system's (ca-certificates) if it is a public one"
            return TLSError(.untrusted, "\(peer) is not trusted (\(reason)): \(advice)")
        }
    }

    private func rejection(_ alert: UInt8) -> TLSError {
        let name = SSL_alert_desc_string_long(CInt(alert)).map { String(cString: $0) } ?? "alert"
        if CInt(alert) == SSL_AD_NO_APPLICATION_PROTOCOL {
            let sentence = "\(peer) speaks none of the protocols offered: is it the right host and port?"
            return TLSError(.noProtocol, sentence, alert: alert)
        }
        let sentence = "\(peer) rejected the connection with the TLS alert \(alert) (\(name))"
        let (advice, isAboutCertificate) = meaning(of: CInt(alert))
        return TLSError(
            .rejected,
            advice.map { "\(sentence): \($0)" } ?? sentence,
            alert: alert,
            isAboutCertificate: isAboutCertificate
        )
    }

    /// A server sends handshake_failure if it wants another certificate, but also if there is no common cipher. If it was shown a
    /// certificate, that is usually the reason; otherwise the reason is unknown.
    private func meaning(of alert: CInt) -> (advice: String?, isAboutCertificate: Bool) {
        let wantsOne = "it requires a certificate and received none"
        let isUnaccepted = "it does not accept the certificate that it received"
        switch alert {
        case SSL_AD_HANDSHAKE_FAILURE:
            guard !showsCertificate else { return (isUnaccepted, true) }
            return (
                "it may require a certificate and have received none, or it supports no cipher that is considered secure",
                false
            )
        case SSL_AD_BAD_CERTIFICATE, SSL_AD_UNSUPPORTED_CERTIFICATE, SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_ACCESS_DENIED:
            return (showsCertificate ? isUnaccepted : wantsOne, true)
        case SSL_AD_CERTIFICATE_REVOKED:
            return (showsCertificate ? "the certificate that it received has been revoked" : nil, true)
        case SSL_AD_CERTIFICATE_EXPIRED:
            return (showsCertificate ? "the certificate that it received has expired" : nil, true)
        case SSL_AD_UNKNOWN_CA:
            return (
                showsCertificate ? "it does not know the authority that issued the certificate it received" : nil, true
            )
        case CInt(TLS13_AD_CERTIFICATE_REQUIRED): return (wantsOne, true)
        case SSL_AD_PROTOCOL_VERSION: return ("it supports no TLS version that this program supports", false)
        default: return (nil, false)
        }
    }
}
