import COpenSSL

/// OpenSSL's view of memory as a file: over bytes of ours to read from, or growing to write into.
struct MemoryBIO: ~Copyable {
    let pointer: OpaquePointer

    /// To be written into. What was in it is wiped when it goes.
    init() {
        guard let pointer = BIO_new(BIO_s_secmem()) else { preconditionFailure("out of memory") }
        self.pointer = pointer
    }

    private init(over bytes: UnsafeRawBufferPointer) {
        guard let pointer = BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count)) else {
            preconditionFailure("out of memory")
        }
        self.pointer = pointer
    }

    deinit {
        BIO_free(self.pointer)
    }

    /// Reads from the bytes themselves, without a copy.
    static func reading<R, E>(_ bytes: ArraySlice<UInt8>, _ body: (OpaquePointer) throws(E) -> R) throws(E) -> R {
        let result = bytes.withUnsafeBytes { raw -> Swift::Result<R, E> in
            let bio = MemoryBIO(over: raw)
            do throws(E) {
                return .success(try body(bio.pointer))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    var bytes: [UInt8] {
        var start: UnsafeMutablePointer<CChar>?
        let count = COpenSSL_BIO_get_mem_data(self.pointer, &start)
        guard let start, count > 0 else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    var string: String { String(decoding: self.bytes, as: UTF8.self) }
}
