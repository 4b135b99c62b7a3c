import CarillonHTTP2

func text(_ bytes: RawSpan) -> String {
    bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
}

/// A client and a server that know each other's settings.
func connected(_ settings: ServerSettings = ServerSettings()) throws -> (client: ClientEnd, server: ServerEnd) {
    let (client, server) = try (ClientEnd(), ServerEnd(settings))
    try exchange(client, server)
    return (client, server)
}

/// Hands bytes across until neither side has more, whole or byte by byte.
func exchange(_ client: ClientEnd, _ server: ServerEnd, byteByByte: Bool = false) throws {
    while true {
        let there = try client.drain()
        for piece in byteByByte ? there.map({ [$0] }) : [there] { try server.feed(piece) }
        let back = try server.drain()
        for piece in byteByByte ? back.map({ [$0] }) : [back] { try client.feed(piece) }
        if there.isEmpty, back.isEmpty { return }
    }
}
