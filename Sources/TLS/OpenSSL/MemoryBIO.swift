import CarillonCOpenSSL

/// OpenSSL's memory BIOs: over our bytes, for reading, or growing, for writing.
enum MemoryBIO {
    /// Reads from the bytes themselves, without a copy.
    static func reading<R>(_ bytes: ArraySlice<UInt8>, _ body: (OpaquePointer) -> R) -> R {
        bytes.withUnsafeBytes { raw in
            let bio = BIO_new_mem_buf(raw.baseAddress, CInt(raw.count))
            guard let bio else { preconditionFailure("out of memory") }
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    /// The text that the body writes. The memory may contain a private key, so it is wiped afterwards.
    static func text<R>(_ body: (OpaquePointer) -> R) -> String {
        guard let bio = BIO_new(BIO_s_secmem()) else { preconditionFailure("out of memory") }
        defer { BIO_free(bio) }
        _ = body(bio)
        var start: UnsafeMutablePointer<CChar>?
        let count = COpenSSL_BIO_get_mem_data(bio, &start)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: max(0, count)), as: UTF8.self)
    }
}
