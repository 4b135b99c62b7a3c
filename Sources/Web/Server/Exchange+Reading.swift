import CarillonCMicroHTTP
import CarillonText

extension Exchange {
    typealias Fields = [(name: String, value: String)]

    /// Reads the request from libmicrohttpd, on its thread. Nil if the query is not valid. libmicrohttpd decodes nothing (see
    /// `WebServer`), except that it turns each plus sign into a space.
    static func request(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>,
        body: [UInt8]
    ) -> Request? {
        var query: Fields = []
        for field in fields(of: connection, .GET_ARGUMENT_KIND) {
            guard let name = PercentCode.decode(field.name.utf8), let value = PercentCode.decode(field.value.utf8)
            else {
                return nil
            }
            query.append((name, value))
        }
        return request(connection, method, path, query: query, body: body)
    }

    /// The head of a request that is refused, which may have no valid query and no body yet.
    static func head(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>
    ) -> Request {
        request(connection, method, path, query: [], body: [])
    }

    private static func request(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>,
        query: Fields,
        body: [UInt8]
    ) -> Request {
        Request(
            method: String(cString: method),
            path: String(cString: path),
            query: query,
            headers: fields(of: connection, .HEADER_KIND),
            body: body,
            peer: peer(of: connection)
        )
    }

    /// False if a text of the head is costly to compare. Until this is known, nothing compares them.
    static func isCheapToCompare(
        _ connection: OpaquePointer,
        _ method: UnsafePointer<CChar>,
        _ path: UnsafePointer<CChar>
    ) -> Bool {
        let fields = fields(of: connection, .HEADER_KIND) + fields(of: connection, .GET_ARGUMENT_KIND)
        return String(cString: method).isCheapToCompare && String(cString: path).isCheapToCompare
            && fields.allSatisfy { $0.name.isCheapToCompare && $0.value.isCheapToCompare }
    }

    /// What libmicrohttpd keeps of a request beside its body: the bytes of its head and of the headers that follow a chunked body, a
    /// copy of its cookies, and a record of each value.
    static func memory(on connection: OpaquePointer) -> Int {
        let (headers, trailers) = (fields(of: connection, .HEADER_KIND), fields(of: connection, .FOOTER_KIND))
        let cookies = headers.first { $0.name.lowercased() == "cookie" }?.value.utf8.count ?? 0
        let late = trailers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + ": \r\n".utf8.count }
        let others = fields(of: connection, .COOKIE_KIND).count + fields(of: connection, .GET_ARGUMENT_KIND).count
        return cmicrohttp_head_size(connection) + cookies + late + 64 * (headers.count + trailers.count + others)
    }

    private static func peer(of connection: OpaquePointer) -> String? {
        var text = [CChar](repeating: 0, count: 64)
        guard cmicrohttp_peer(connection, &text, text.count) else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    static func fields(of connection: OpaquePointer, _ kind: MHD_ValueKind) -> Fields {
        var fields: Fields = []
        withUnsafeMutablePointer(to: &fields) { pointer in
            _ = MHD_get_connection_values(
                connection,
                kind,
                { context, _, name, value in
                    guard let context, let name else { return .NO }
                    let fields = context.assumingMemoryBound(to: Fields.self)
                    fields.pointee.append((String(cString: name), value.map { String(cString: $0) } ?? ""))
                    return .YES
                },
                pointer
            )
        }
        return fields
    }
}
