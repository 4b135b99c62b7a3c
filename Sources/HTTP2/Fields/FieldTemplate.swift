import CarillonCNGHTTP2
import CarillonIO

/// A request's header block in the form that nghttp2 reads, at a fixed address: a prologue, the array of fields, their bytes, and
/// room for the path of the current submission.
struct FieldTemplate {
    private struct Prologue {
        var fieldCount: Int
        var pathIndex: Int
        var prefixCount: Int
        var hasVarying: Bool
    }

    /// The longest path suffix. Apple has announced tokens of 100 bytes (200 digits) and sets no limit.
    static let pathRoom = 1_024

    private let memory: UnsafeMutableRawPointer

    init(at memory: UnsafeMutableRawPointer) { self.memory = memory }

    static func byteCount(for block: borrowing HeaderBlock) -> Int {
        fieldsOffset + fieldCount(block) * MemoryLayout<nghttp2_nv>.stride + block.bytes.count
            + prefixCount(block) + pathRoom
    }

    /// Lays `block` out at `memory`.
    static func write(_ block: borrowing HeaderBlock, to memory: UnsafeMutableRawPointer) {
        let count = fieldCount(block)
        let fields = (memory + fieldsOffset).bindMemory(to: nghttp2_nv.self, capacity: count)
        let bytes = UnsafeMutableRawPointer(fields + count).bindMemory(to: UInt8.self, capacity: block.bytes.count)
        block.bytes.withUnsafeBufferPointer { bytes.update(from: $0.baseAddress!, count: $0.count) }
        let path = bytes + block.bytes.count

        for (index, entry) in block.entries.enumerated() {
            fields[index] = entry.field(in: bytes)
            fields[index].flags |= UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
        }
        if let index = block.pathIndex {
            // The path differs each time, so nghttp2 copies it at submission.
            path.update(from: fields[index].value, count: fields[index].valuelen)
            fields[index].value = path
            fields[index].flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
        }
        if let name = block.varyingName {
            fields[block.entries.count] = nghttp2_nv(
                name: bytes + Int(name.start),
                value: nil,
                namelen: Int(name.count),
                valuelen: 0,
                flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue)
            )
        }
        memory.initializeMemory(
            as: Prologue.self,
            to: Prologue(
                fieldCount: count,
                pathIndex: block.pathIndex ?? -1,
                prefixCount: prefixCount(block),
                hasVarying: block.varyingName != nil
            )
        )
    }

    /// The fields of one submission, valid until the next one is prepared. An empty `varying` leaves the field out. The field
    /// enters the compression table only the first time, which gives its name an index there.
    func prepare(
        path: UnsafeRawBufferPointer,
        varying: UnsafeRawBufferPointer,
        indexesVarying: Bool
    ) -> UnsafeBufferPointer<nghttp2_nv> {
        let prologue = memory.assumingMemoryBound(to: Prologue.self).pointee
        let fields = (memory + Self.fieldsOffset).assumingMemoryBound(to: nghttp2_nv.self)
        if prologue.pathIndex >= 0 {
            let field = fields + prologue.pathIndex
            if let address = path.baseAddress {
                UnsafeMutableRawPointer(field.pointee.value + prologue.prefixCount)
                    .copyMemory(from: address, byteCount: path.count)
            }
            field.pointee.valuelen = prologue.prefixCount + path.count
        }
        guard prologue.hasVarying else { return UnsafeBufferPointer(start: fields, count: prologue.fieldCount) }
        guard let value = varying.baseAddress, !varying.isEmpty else {
            return UnsafeBufferPointer(start: fields, count: prologue.fieldCount - 1)
        }
        let field = fields + (prologue.fieldCount - 1)
        field.pointee.value = UnsafeMutablePointer(mutating: value.assumingMemoryBound(to: UInt8.self))
        field.pointee.valuelen = varying.count
        let indexing = indexesVarying ? 0 : NGHTTP2_NV_FLAG_NO_INDEX.rawValue
        field.pointee.flags = UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | indexing)
        return UnsafeBufferPointer(start: fields, count: prologue.fieldCount)
    }

    private static var fieldsOffset: Int { (MemoryLayout<Prologue>.stride + 15) & ~15 }

    private static func fieldCount(_ block: borrowing HeaderBlock) -> Int {
        block.entries.count + (block.varyingName == nil ? 0 : 1)
    }

    private static func prefixCount(_ block: borrowing HeaderBlock) -> Int {
        block.pathIndex.map { Int(block.entries[$0].value.count) } ?? 0
    }
}
