import CarillonCNGHTTP2

/// The decoder of a peer: nghttp2's, which knows nothing of our encoder.
final class HeaderDecoder {
    struct Field: Hashable {
        var name: String
        var value: String
        /// Whether no compression table may ever have it.
        var isNeverIndexed = false
    }

    struct Malformed: Error { let code: Int }

    private let inflater: OpaquePointer

    init() throws {
        var inflater: OpaquePointer?
        let result = nghttp2_hd_inflate_new(&inflater)
        guard let inflater else { throw Malformed(code: Int(result)) }
        self.inflater = inflater
    }

    deinit { nghttp2_hd_inflate_del(inflater) }

    /// The bytes of its table, and what it lets the encoder have.
    var tableSize: Int { nghttp2_hd_inflate_get_dynamic_table_size(inflater) }
    var largestTableSize: Int { nghttp2_hd_inflate_get_max_dynamic_table_size(inflater) }

    /// A setting of the peer has been acknowledged.
    func allow(_ size: UInt32) throws {
        let result = nghttp2_hd_inflate_change_table_size(inflater, Int(size))
        if result != 0 { throw Malformed(code: Int(result)) }
    }

    func decode(_ block: [UInt8]) throws -> [Field] {
        var fields: [Field] = []
        var rest = block[...]
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let count = rest.withUnsafeBufferPointer {
                let read = nghttp2_hd_inflate_hd2(inflater, &field, &flags, $0.baseAddress, $0.count, 1)
                if read >= 0, flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 { fields.append(Self.field(field)) }
                return read
            }
            guard count >= 0 else { throw Malformed(code: count) }
            rest = rest.dropFirst(count)
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 { break }
        }
        nghttp2_hd_inflate_end_headers(inflater)
        return fields
    }

    private static func field(_ field: nghttp2_nv) -> Field {
        func text(_ start: UnsafeMutablePointer<UInt8>?, _ count: Int) -> String {
            String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
        }
        return Field(
            name: text(field.name, field.namelen),
            value: text(field.value, field.valuelen),
            isNeverIndexed: field.flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0
        )
    }
}
