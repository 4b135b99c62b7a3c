import CarillonCNGHTTP2

/// Encodes the header blocks of a connection's requests. It knows what the peer's decoder has in its compression table, so it must
/// be the only one that uses that table, and its blocks must be sent in the order in which they were encoded.
///
/// Fields that repeat are in the table; the rest of a block is copied. What all requests with the same fields share is encoded once
/// until the table changes.
struct RequestEncoder: ~Copyable {
    private(set) var table = CompressionTable()
    private var frameLimit = HeaderFrames.smallestLimit
    /// The block that is being encoded, after room for the header of a frame.
    private var scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1_024, alignment: 16)

    deinit { scratch.deallocate() }

    /// The peer's settings arrived or changed.
    mutating func settingsArrived(_ entries: UnsafeBufferPointer<nghttp2_settings_entry>) {
        for entry in entries {
            switch UInt32(entry.settings_id) {
            case NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue: table.allow(entry.value)
            case NGHTTP2_SETTINGS_MAX_FRAME_SIZE.rawValue:
                frameLimit = max(Int(entry.value), HeaderFrames.smallestLimit)
            default: break
            }
        }
    }

    /// Appends a request's header in the place of `frame`. An empty `varying` leaves its field out.
    mutating func write(
        _ request: RequestTexts,
        path: UnsafeRawBufferPointer,
        varying: UnsafeRawBufferPointer,
        replacing frame: UnsafeBufferPointer<UInt8>,
        to output: inout [UInt8]
    ) {
        if request.encoded.revision != table.revision { encode(request) }
        let encoded = request.encoded
        let shared = UnsafeRawBufferPointer(request.room)
        reserve(HeaderFrames.headerSize + shared.count + path.count + varying.count + 3 * HPACK.integerRoom)
        var block = HPACK(UnsafeMutableRawBufferPointer(rebasing: scratch[HeaderFrames.headerSize...]))
        block.bytes(UnsafeRawBufferPointer(rebasing: shared[..<encoded.front]))
        if request.pathIndex >= 0 {
            let prefix = request.pathPrefix
            block.integer(prefix.count + path.count, .string)
            block.bytes(prefix)
            block.bytes(path)
        }
        block.bytes(UnsafeRawBufferPointer(rebasing: shared[encoded.front..<encoded.count]))
        if !request.varyingName.isEmpty, !varying.isEmpty {
            block.name(request.varyingName, number: nil, .neverIndexed)
            block.string(varying)
        }
        let written = UnsafeMutableRawBufferPointer(rebasing: scratch[..<(HeaderFrames.headerSize + block.count)])
        HeaderFrames.append(blockIn: written, replacing: frame, limit: frameLimit, to: &output)
    }

    private mutating func reserve(_ count: Int) {
        guard scratch.count < count else { return }
        scratch.deallocate()
        scratch = .allocate(byteCount: count, alignment: 16)
    }

    /// Encodes what requests share. If that changes the table, only the next request can use it.
    private mutating func encode(_ request: RequestTexts) {
        var encoded = RequestTexts.Encoded()
        let before = table.revision
        var block = HPACK(request.room)
        table.writeSizes(to: &block)
        for (index, field) in request.fields.enumerated() {
            let name = request.text(field.name)
            if index == request.pathIndex {
                block.name(name, number: CompressionTable.staticNumber(of: name), .neverIndexed)
                encoded.front = block.count
            } else {
                write(name, request.text(field.value), field.indexing, to: &block)
            }
        }
        if request.pathIndex < 0 { encoded.front = block.count }
        encoded.count = block.count
        encoded.revision = table.revision == before ? before : nil
        request.encoded = encoded
    }

    private mutating func write(
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        _ indexing: HeaderBlock.Indexing,
        to block: inout HPACK
    ) {
        if indexing == .never {
            block.name(name, number: CompressionTable.staticNumber(of: name), .neverIndexed)
            return block.string(value)
        }
        let number: Int?
        switch table.find(name: name, value: value) {
        case .field(let number): return block.integer(number, .indexed)
        case .name(let place): number = place
        case .nothing: number = nil
        }
        let hasRoom = table.hasRoom(name: name.count, value: value.count)
        block.name(name, number: number, hasRoom ? .incremental : .withoutIndexing)
        block.string(value)
        if hasRoom { table.insert(name: name, value: value) }
    }
}
