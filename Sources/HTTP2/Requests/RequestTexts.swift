import CarillonCNGHTTP2
import CarillonIO

/// The header fields that requests share, at a fixed address: a prologue, the fields, their bytes, and room for the header block
/// as it was encoded last. ``RequestEncoder`` encodes it.
struct RequestTexts {
    private struct Prologue {
        /// `:method`, in the form that nghttp2 reads. It is first, so that its address is known.
        var method: nghttp2_nv
        var fieldCount: Int
        var byteCount: Int
        /// The place of `:path`, whose value is only the prefix; or -1.
        var pathIndex: Int
        /// Empty if no field varies.
        var varyingName: ByteRange
        var encoded = Encoded()
        var encodedRoom: Int
    }

    /// A header block without what varies. It can be used again while the table has this revision.
    struct Encoded {
        var revision: UInt64?
        /// The bytes before the length of the path, and all bytes.
        var front = 0
        var count = 0
    }

    /// What all names and values may have in bytes, and what nghttp2 accepts at most.
    private static let longest = 65_536
    /// nghttp2 puts it into one frame.
    private static let longestMethod = 64

    private let memory: UnsafeMutableRawPointer

    init(at memory: UnsafeMutableRawPointer) { self.memory = memory }

    static func byteCount(for block: borrowing HeaderBlock) throws(HTTP2Error) -> Int {
        guard block.bytes.count <= longest else {
            throw HTTP2Error(.invalidField, "the header fields of a request have more than \(longest) bytes")
        }
        guard block.entries[0].value.count <= longestMethod else {
            throw HTTP2Error(.invalidField, "the method of a request has more than \(longestMethod) bytes")
        }
        return fieldsOffset + block.entries.count * MemoryLayout<HeaderBlock.Entry>.stride + block.bytes.count
            + encodedRoom(block)
    }

    /// Lays `block` out at `memory`.
    static func write(_ block: borrowing HeaderBlock, to memory: UnsafeMutableRawPointer) {
        let count = block.entries.count
        let fields = (memory + fieldsOffset).bindMemory(to: HeaderBlock.Entry.self, capacity: count)
        block.entries.withUnsafeBufferPointer { fields.initialize(from: $0.baseAddress!, count: count) }
        let bytes = UnsafeMutableRawPointer(fields + count).bindMemory(to: UInt8.self, capacity: block.bytes.count)
        block.bytes.withUnsafeBufferPointer { bytes.initialize(from: $0.baseAddress!, count: $0.count) }
        var method = block.entries[0].field(in: bytes)
        // Never indexed, so that nghttp2 does not use the compression table.
        method.flags = UInt8(
            NGHTTP2_NV_FLAG_NO_INDEX.rawValue | NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue
                | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
        )
        memory.initializeMemory(
            as: Prologue.self,
            to: Prologue(
                method: method,
                fieldCount: count,
                byteCount: block.bytes.count,
                pathIndex: block.pathIndex ?? -1,
                varyingName: block.varyingName ?? .empty,
                encodedRoom: encodedRoom(block)
            )
        )
    }

    // MARK: What is read

    private var prologue: UnsafeMutablePointer<Prologue> { memory.assumingMemoryBound(to: Prologue.self) }

    private var fieldMemory: UnsafeMutablePointer<HeaderBlock.Entry> {
        (memory + Self.fieldsOffset).assumingMemoryBound(to: HeaderBlock.Entry.self)
    }

    var fields: UnsafeBufferPointer<HeaderBlock.Entry> {
        UnsafeBufferPointer(start: fieldMemory, count: prologue.pointee.fieldCount)
    }

    /// The address of the only field that nghttp2 is told of: its request needs one, and the method decides what an answer may be.
    var method: UnsafePointer<nghttp2_nv> { UnsafeRawPointer(memory).assumingMemoryBound(to: nghttp2_nv.self) }

    var pathIndex: Int { prologue.pointee.pathIndex }

    var encoded: Encoded {
        get { prologue.pointee.encoded }
        nonmutating set { prologue.pointee.encoded = newValue }
    }

    /// The first part of the path, which all requests share.
    var pathPrefix: UnsafeRawBufferPointer { text(fields[pathIndex].value) }

    var varyingName: UnsafeRawBufferPointer { text(prologue.pointee.varyingName) }

    func text(_ range: ByteRange) -> UnsafeRawBufferPointer {
        let bytes = UnsafeRawPointer(fieldMemory + prologue.pointee.fieldCount)
        return UnsafeRawBufferPointer(start: bytes + Int(range.start), count: Int(range.count))
    }

    /// The room for the encoded block.
    var room: UnsafeMutableRawBufferPointer {
        let bytes = UnsafeMutableRawPointer(fieldMemory + prologue.pointee.fieldCount)
        return UnsafeMutableRawBufferPointer(
            start: bytes + prologue.pointee.byteCount,
            count: prologue.pointee.encodedRoom
        )
    }

    // MARK: Sizes

    private static var fieldsOffset: Int { (MemoryLayout<Prologue>.stride + 15) & ~15 }

    /// Room for two changes of the table's size and for all fields as literals; an integer is written only with room for the
    /// largest.
    private static func encodedRoom(_ block: borrowing HeaderBlock) -> Int {
        HPACK.integerRoom * (2 + 3 * (block.entries.count + 1)) + block.bytes.count
    }
}
