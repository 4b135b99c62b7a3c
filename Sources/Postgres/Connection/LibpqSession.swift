import CarillonCPostgres
import CarillonText

/// A libpq session, with a thin function for each C call. It is closed with its last reference.
///
/// `@unchecked`, because libpq lets any thread use a session, one at a time: `PostgresConnector` creates it and hands it over under
/// its lock, and from then on only the receiving actor calls it. Others may hold it, but call nothing; the last of them closes it.
final class LibpqSession: @unchecked Sendable {
    enum Arrival {
        case result(ServerResult)
        /// The results of one statement are complete.
        case end
        /// There is no result until more bytes are read.
        case incomplete
    }

    /// Enough of the notices of one result. A trigger may send one for each row.
    private static let maxNotices = 10

    private let session: OpaquePointer
    /// What the server has sent since the last result. It sends the notices of a statement before its result.
    private var notices: [ServerNotice] = []

    init(owning session: OpaquePointer) {
        self.session = session
        // Otherwise libpq prints the server's notices to standard error. It calls this only from functions that are called here.
        PQsetNoticeReceiver(
            session,
            { context, notice in
                guard let context, let notice = notice.flatMap(ServerNotice.init) else { return }
                Unmanaged<LibpqSession>.fromOpaque(context).takeUnretainedValue().keep(notice)
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    private func keep(_ notice: ServerNotice) {
        if notices.count < Self.maxNotices { notices.append(notice) }
    }

    deinit { PQfinish(session) }

    var socket: CInt { PQsocket(session) }
    var isAlive: Bool { PQstatus(session) == CONNECTION_OK }
    var serverVersion: Int { Int(PQserverVersion(session)) }
    var backendProcessID: Int32 { PQbackendPID(session) }
    /// The host that it is connected to, or that libpq is trying.
    var server: ServerAddress { Self.server(of: session) }

    /// That host alone, by its address, so that nobody has to look up its name.
    var host: HostList {
        HostList(host: server.host, address: PQhostaddr(session).map { String(cString: $0) } ?? "", port: server.port)
    }

    static func server(of session: OpaquePointer) -> ServerAddress {
        ServerAddress(
            host: PQhost(session).map { String(cString: $0) } ?? "",
            port: PQport(session).map { String(cString: $0) } ?? ""
        )
    }

    var message: String { String(cString: PQerrorMessage(session)).trimmed }

    // MARK: Sending

    func enterPipeline() -> Bool {
        PQsetnonblocking(session, 1) == 0 && PQenterPipelineMode(session) == 1
    }

    func exitPipeline() -> Bool { PQexitPipelineMode(session) == 1 }

    func prepare(_ name: String, _ sql: String, _ types: [UInt32]) -> Bool {
        PQsendPrepare(session, name, sql, CInt(types.count), types) == 1
    }

    func execute(_ name: String, _ parameters: Parameters) -> Bool {
        Self.withPointers(to: parameters) { count, values, lengths, formats in
            PQsendQueryPrepared(session, name, count, values, lengths, formats, 1) == 1
        }
    }

    /// Executes an unnamed statement, which leaves nothing on the server.
    func execute(sql: String, _ parameters: Parameters) -> Bool {
        Self.withPointers(to: parameters) { count, values, lengths, formats in
            PQsendQueryParams(session, sql, count, parameters.types, values, lengths, formats, 1) == 1
        }
    }

    private typealias Pointers = (
        CInt, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<CInt>?, UnsafePointer<CInt>?
    ) -> Bool

    private static func withPointers(to parameters: Parameters, _ body: Pointers) -> Bool {
        let count = parameters.count
        return parameters.bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
                withUnsafeTemporaryAllocation(of: CInt.self, capacity: count) { lengths in
                    withUnsafeTemporaryAllocation(of: CInt.self, capacity: count) { formats in
                        for (index, place) in parameters.places.enumerated() {
                            values[index] = place.length < 0 ? nil : Self.address(of: place, in: bytes)
                            lengths[index] = CInt(max(place.length, 0))
                            formats[index] = 1
                        }
                        return body(
                            CInt(count),
                            UnsafePointer(values.baseAddress),
                            UnsafePointer(lengths.baseAddress),
                            UnsafePointer(formats.baseAddress)
                        )
                    }
                }
            }
        }
    }

    /// An empty value needs an address too: libpq takes a null pointer for an SQL null.
    private static func address(of place: Parameters.Place, in bytes: UnsafeRawBufferPointer) -> UnsafePointer<CChar>? {
        guard let base = bytes.baseAddress else {
            return UnsafeRawPointer(Self.empty.utf8Start).assumingMemoryBound(to: CChar.self)
        }
        return (base + place.offset).assumingMemoryBound(to: CChar.self)
    }

    private static let empty: StaticString = ""

    /// Ends a statement's implicit transaction, so that its failure affects no other.
    func sync() -> Bool { PQpipelineSync(session) == 1 }

    /// Sends several statements over the simple query protocol, outside the pipeline.
    func send(_ sql: String) -> Bool { PQsendQuery(session, sql) == 1 }

    /// Sends input of a `COPY`. libpq buffers, without a limit, what the kernel does not accept.
    func put(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.withUnsafeBytes { bytes in
            PQputCopyData(session, bytes.assumingMemoryBound(to: CChar.self).baseAddress, CInt(bytes.count)) == 1
        }
    }

    /// Ends the input of a `COPY`.
    func endInput() -> Bool { PQputCopyEnd(session, nil) == 1 }

    /// Whether the kernel accepted everything; nil if the connection is lost.
    func flush() -> Bool? {
        switch PQflush(session) {
        case 0: true
        case 1: false
        default: nil
        }
    }

    // MARK: Receiving

    func read() -> Bool { PQconsumeInput(session) == 1 }

    /// Whether a notification has arrived, which is then forgotten.
    func takeNotification() -> Bool {
        guard let notification = PQnotifies(session) else { return false }
        PQfreemem(notification)
        return true
    }

    func next() -> Arrival {
        if PQisBusy(session) != 0 { return .incomplete }
        guard let result = PQgetResult(session) else { return .end }
        defer { notices = [] }
        return .result(ServerResult(owning: result, notices: notices))
    }
}
