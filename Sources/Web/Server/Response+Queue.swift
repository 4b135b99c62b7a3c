import CarillonCMicroHTTP

extension Response {
    private var whole: OpaquePointer? {
        body.withUnsafeBytes { bytes in
            MHD_create_response_from_buffer(
                bytes.count,
                UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY
            )
        }
    }

    /// Hands the response to libmicrohttpd, on its thread.
    func queue(on connection: OpaquePointer) -> MHD_Result {
        guard let response = stream.map({ $0.response(on: connection) }) ?? whole else { return .NO }
        defer { MHD_destroy_response(response) }
        for (name, value) in headers { MHD_add_response_header(response, name, value) }
        // A response must not be cached unless it says so, and must not be interpreted as another content type.
        if !headers.contains(where: { $0.name == "Cache-Control" }) {
            MHD_add_response_header(response, "Cache-Control", "no-store")
        }
        MHD_add_response_header(response, "X-Content-Type-Options", "nosniff")
        if Exchange.endsConnection(connection), !headers.contains(where: { $0.name == "Connection" }) {
            MHD_add_response_header(response, "Connection", "close")
        }
        return MHD_queue_response(connection, CUnsignedInt(status), response)
    }
}
