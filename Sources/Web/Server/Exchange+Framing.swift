import CarillonCMicroHTTP
import Glibc

/// Whether a proxy can read a request differently than libmicrohttpd. If so, it may let a second request pass as part of the first.
extension Exchange {
    /// - Parameters:
    ///   - method: the beginning of the request line, in the buffer of libmicrohttpd.
    ///   - path: the beginning of the target, in the same buffer.
    ///   - length: that of the target; nil if it is not valid.
    ///   - version: the last word of the request line, in the same buffer.
    static func isUnambiguous(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>,
        _ length: Int?,
        _ version: UnsafePointer<CChar>
    ) -> Bool {
        let headers = fields(of: connection, .HEADER_KIND)
        func values(of name: String) -> [String] {
            headers.filter { $0.name.lowercased() == name }.map { $0.value }
        }
        let isOld = String(cString: version) == "HTTP/1.0"
        let (hosts, encodings) = (values(of: "host").count, values(of: "transfer-encoding"))
        guard hosts == 1 || (isOld && hosts == 0), encodings.count + values(of: "content-length").count <= 1 else {
            return false
        }
        // libmicrohttpd takes everything that follows for a body with another encoding. HTTP/1.0 has no encodings (RFC 9112, 6.1).
        guard encodings.allSatisfy({ !isOld && $0.lowercased() == "chunked" }) else { return false }
        func isVisible(_ word: String) -> Bool {
            !word.isEmpty && word.utf8.allSatisfy { (0x21...0x7e).contains($0) }
        }
        let isPlain = headers.allSatisfy { name, value in
            isVisible(name) && value.utf8.allSatisfy { $0 == UInt8(ascii: "\t") || $0 >= 0x20 && $0 != 0x7f }
        }
        guard let length, isPlain, isVisible(String(cString: method)) else { return false }
        return hasPlainLines(connection, method, path, length, version)
    }

    /// False if a line does not end in CR LF, is folded or contains a null character, or if several spaces follow the method.
    ///
    /// libmicrohttpd 1.0 refuses such lines if it is strict. Earlier versions do not, and join a folded line to the name of its
    /// header. They replace both bytes of each line end by null characters and leave the texts where they arrived, so each line must
    /// begin two bytes after the text before it.
    private static func hasPlainLines(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>,
        _ length: Int,
        _ version: UnsafePointer<CChar>
    ) -> Bool {
        guard String(cString: MHD_get_version()).hasPrefix("0.") else { return true }
        guard path == method + strlen(method) + 1, version == path + length + 1 else { return false }
        var next: UnsafePointer<CChar>? = version + strlen(version) + 2
        withUnsafeMutablePointer(to: &next) { pointer in
            _ = MHD_get_connection_values(
                connection,
                .HEADER_KIND,
                { context, _, name, value in
                    guard let next = context?.assumingMemoryBound(to: UnsafePointer<CChar>?.self) else { return .NO }
                    next.pointee = name == next.pointee ? value.map { $0 + strlen($0) + 2 } : nil
                    return next.pointee == nil ? .NO : .YES
                },
                pointer
            )
        }
        // The head ends with an empty line.
        return next.map { $0 + 2 == method + cmicrohttp_head_size(connection) } ?? false
    }

    /// Whether nothing more is read from the connection. A proxy may end a chunked body elsewhere than libmicrohttpd, which accepts
    /// lines in it that end in LF alone, so what follows may not be the next request.
    static func endsConnection(_ connection: OpaquePointer) -> Bool {
        MHD_lookup_connection_value(connection, .HEADER_KIND, "Transfer-Encoding") != nil
    }
}
