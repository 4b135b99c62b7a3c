import CarillonCCURL
import CarillonIO
import Glibc

/// One request in libcurl. It belongs to the client's thread.
final class Transfer {
    private static let maxHeaderBytes = 16_384
    private static let maxBodyBytes = 65_536
    private static let connectTimeout = Duration.seconds(5)
    /// In seconds: a century.
    private static let longestWait = 100 * 365 * 86_400

    let easy: UnsafeMutableRawPointer
    private let allowsPrivate: Bool
    private let usesProxy: Bool
    private let maxAnswerBytes: Int
    private var headers: UnsafeMutablePointer<curl_slist>?
    private var headerBytes = 0
    private var bodyBytes = 0
    /// All that came, with the framing of chunks.
    private var receivedBytes = 0
    /// If it matters.
    private var body: [UInt8] = []
    /// The headers that have said how the body is encoded.
    private var encodings: Set<String> = []
    private var hasAnswer = false
    /// The answer says to wait for more seconds than libcurl can count.
    private var asksForTooLong = false
    /// Why it was ended by this side.
    private var refusal: String?

    /// Nil if there is no memory for it.
    init?(_ request: HTTPRequest, proxy: String?) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        allowsPrivate = request.allowsPrivate
        usesProxy = proxy != nil
        maxAnswerBytes = request.maxAnswerBytes
        guard prepare(request, proxy: proxy) else { return nil }
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
    }

    /// Names that are not set keep what is safe: certificates and their names are checked, and no password or cookie is read from
    /// anywhere.
    private func prepare(_ request: HTTPRequest, proxy: String?) -> Bool {
        // An empty one stops libcurl from waiting for "100 Continue".
        for (name, value) in request.headers + [("Expect", "")] {
            guard let longer = curl_slist_append(headers, "\(name):\(value.isEmpty ? "" : " ")\(value)") else {
                return false
            }
            headers = longer
        }
        var codes = [
            ccurl_set_text(easy, CURLOPT_URL, request.url),
            ccurl_set_number(easy, CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP | CURLPROTO_HTTPS)),
            ccurl_set_number(easy, CURLOPT_FOLLOWLOCATION, 0),
            // An empty text: none, whatever the environment says.
            ccurl_set_text(easy, CURLOPT_PROXY, proxy ?? ""),
            // An empty text: for all names. A name in no_proxy would be reached directly, and its address not be checked.
            ccurl_set_text(easy, CURLOPT_NOPROXY, ""),
            ccurl_set_number(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            ccurl_set_number(easy, CURLOPT_NOSIGNAL, 1),
            ccurl_do_not_wait_for_resolver(easy),
            ccurl_set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, Self.milliseconds(Self.connectTimeout)),
            ccurl_set_number(easy, CURLOPT_TIMEOUT_MS, Self.milliseconds(request.timeout)),
            ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, headers),
            // Requests to private addresses do not leave a connection that another one could use.
            ccurl_set_number(easy, CURLOPT_FORBID_REUSE, request.allowsPrivate ? 1 : 0),
            ccurl_set_callbacks(
                easy,
                { bytes, size, count, context in Transfer.of(context).receiveHeader(bytes, size * count) },
                { bytes, size, count, context in Transfer.of(context).receiveBody(bytes, size * count) },
                { context, _, address in Transfer.of(context).open(address) },
                Unmanaged.passUnretained(self).toOpaque()
            ),
            ccurl_count_received(
                easy,
                { _, kind, _, count, context in
                    if kind == CURLINFO_DATA_IN || kind == CURLINFO_HEADER_IN {
                        Transfer.of(context).receivedBytes += count
                    }
                    return 0
                },
                { context, _, _, _, _ in Transfer.of(context).mayGoOn() ? 0 : 1 },
                Unmanaged.passUnretained(self).toOpaque()
            ),
        ]
        if let body = request.body {
            codes += [
                ccurl_set_number(easy, CURLOPT_POST, 1), ccurl_set_number(easy, CURLOPT_POSTFIELDSIZE, body.count),
                body.withUnsafeBytes {
                    ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
                },
            ]
        }
        // Otherwise libcurl undoes no compression of a body.
        if maxAnswerBytes > 0 { codes.append(ccurl_set_text(easy, CURLOPT_ACCEPT_ENCODING, "gzip")) }
        if let roots = request.roots {
            // Otherwise the system's are trusted too.
            codes.append(ccurl_set_text(easy, CURLOPT_CAPATH, nil))
            codes.append(Array(roots.utf8).withUnsafeBytes { ccurl_set_roots(easy, $0.baseAddress, $0.count) })
        }
        return codes.allSatisfy { $0 == CURLE_OK }
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration.nanoseconds / 1_000_000) }

    /// The client keeps a transfer as long as libcurl has it.
    private static func of(_ context: UnsafeMutableRawPointer?) -> Transfer {
        guard let context else { preconditionFailure("libcurl has lost the context of a transfer") }
        return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }

    /// Returns how many bytes were taken; fewer end the transfer.
    private func receiveHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        headerBytes += count
        guard headerBytes <= Self.maxHeaderBytes else {
            refusal = "the headers of its answer are larger than 16 kB"
            return 0
        }
        let line = UnsafeRawBufferPointer(start: bytes, count: count)
        guard isPlain(line) else {
            refusal = "its answer is encoded in a way that is not accepted"
            return 0
        }
        // The line that ends them. An answer such as "100 Continue" has headers too.
        if count <= 2, line.allSatisfy({ $0 == 13 || $0 == 10 }) {
            if ccurl_status(easy) >= 200 { hasAnswer = true } else { encodings = [] }
        }
        return count
    }

    /// False for a header that names several encodings of the body, or one that is not expected. libcurl undoes as many as a server
    /// names, whether they are of the transfer or of the content, so that a few bytes may cost minutes before any of them is received.
    private func isPlain(_ line: UnsafeRawBufferPointer) -> Bool {
        guard line.count > 2, let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return true }
        func word(_ range: Range<Int>) -> String {
            String(decoding: line[range], as: UTF8.self).lowercased().filter { !$0.isWhitespace }
        }
        let name = word(0..<colon)
        let accepted: [String]
        switch name {
        case "transfer-encoding": accepted = ["chunked"]
        case "content-encoding" where maxAnswerBytes > 0: accepted = ["gzip", "identity"]
        case "retry-after":
            // libcurl reads no number that has no room in 64 bits.
            let value = word(colon + 1..<line.count)
            asksForTooLong = value.utf8.count > 18 && value.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return true
        default: return true
        }
        return encodings.insert(name).inserted && accepted.contains(word(colon + 1..<line.count))
    }

    private func receiveBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        bodyBytes += count
        guard maxAnswerBytes > 0 else { return bodyBytes <= Self.maxBodyBytes ? count : 0 }
        guard bodyBytes <= maxAnswerBytes else {
            refusal = "its answer is longer than \(maxAnswerBytes) bytes"
            return 0
        }
        body += UnsafeRawBufferPointer(start: bytes, count: count)
        return count
    }

    /// False ends the transfer. Chunks can have extensions without an end, which libcurl skips. The framing may be as long as the body.
    private func mayGoOn() -> Bool {
        let limit = Self.maxHeaderBytes + 2 * (maxAnswerBytes > 0 ? maxAnswerBytes : Self.maxBodyBytes)
        guard receivedBytes > limit else { return true }
        refusal = "its answer is longer than \(limit) bytes, most of which are not of its body"
        return false
    }

    /// Called for each address that libcurl is about to connect to, so a name cannot have another address by then.
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>?) -> CInt {
        guard let address else { return -1 }
        if !allowsPrivate, !usesProxy {
            guard let known = NetworkAddress(address) else { return -1 }
            guard known.isPublic else {
                refusal = "its address, \(known), is private or reserved, and was not allowed by --allow-private"
                return -1
            }
        }
        let type = address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue)
        return socket(address.pointee.family, type, address.pointee.protocol)
    }

    /// - Parameter code: how libcurl says that it ended.
    func outcome(_ code: CURLcode) -> HTTPOutcome {
        if hasAnswer, maxAnswerBytes == 0 || code == CURLE_OK {
            let seconds = asksForTooLong ? Self.longestWait : ccurl_retry_after(easy)
            return .answered(status: ccurl_status(easy), retryAfter: seconds > 0 ? .seconds(seconds) : nil, body: body)
        }
        if let refusal { return .failed(refusal) }
        return .failed(Self.text(code))
    }

    private static func text(_ code: CURLcode) -> String {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: "it did not answer in time"
        case CURLE_COULDNT_RESOLVE_HOST: "its name cannot be resolved"
        case CURLE_COULDNT_CONNECT: "it cannot be reached"
        case CURLE_PEER_FAILED_VERIFICATION: "its certificate is not trusted, or is for another name"
        // So libcurl answers a header line of more than 100 kB.
        case CURLE_OUT_OF_MEMORY: "a header of its answer is too large, or memory is short"
        case CURLE_UNSUPPORTED_PROTOCOL: "it does not speak HTTP"
        case CURLE_BAD_CONTENT_ENCODING: "its answer is not compressed as it says"
        default: String(cString: curl_easy_strerror(code))
        }
    }
}

extension NetworkAddress {
    /// Nil if it is of neither protocol.
    fileprivate init?(_ address: UnsafeMutablePointer<curl_sockaddr>) {
        let start = UnsafeMutableRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
        switch address.pointee.family {
        case AF_INET: self.init(withUnsafeBytes(of: start.load(as: sockaddr_in.self).sin_addr) { Array($0) })
        case AF_INET6:
            self.init(withUnsafeBytes(of: start.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) })
        default: return nil
        }
    }
}
