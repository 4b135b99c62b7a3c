import CarillonCMicroHTTP

extension Exchange {
    private typealias Fields = [(name: String, value: String)]

    /// The request as libmicrohttpd has it, on its thread.
    static func request(_ connection: OpaquePointer, method: String, path: String, body: [UInt8]) -> Request {
        Request(
            method: method,
            path: path,
            query: fields(of: connection, .GET_ARGUMENT_KIND),
            headers: fields(of: connection, .HEADER_KIND),
            body: body
        )
    }

    private static func fields(of connection: OpaquePointer, _ kind: MHD_ValueKind) -> Fields {
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

extension Response {
    /// Hands the response to libmicrohttpd, on its thread.
    func queue(on connection: OpaquePointer) -> MHD_Result {
        let response = body.withUnsafeBytes { bytes in
            MHD_create_response_from_buffer(
                bytes.count,
                UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY
            )
        }
        guard let response else { return .NO }
        defer { MHD_destroy_response(response) }
        for (name, value) in headers { MHD_add_response_header(response, name, value) }
        // Responses must not be cached, and must not be interpreted as another content type.
        MHD_add_response_header(response, "Cache-Control", "no-store")
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff")
        return MHD_queue_response(connection, CUnsignedInt(status), response)
    }
}
