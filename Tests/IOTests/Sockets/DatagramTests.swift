import CarillonIO
import TestSupport
import Testing

@Suite struct DatagramTests {
    @Test func `datagrams arrive at a socket in a folder, each whole`() throws {
        try TemporaryFolder.with { folder in
            let socket = try NotificationSocket(at: folder.file("socket"))
            try Datagram.send("one\nmessage", to: folder.file("socket"))
            try Datagram.send("another", to: folder.file("socket"))
            #expect(socket.received() == "one\nmessage")
            #expect(socket.received() == "another")
            #expect(socket.received() == nil)
        }
    }

    @Test func `a datagram arrives at a socket in the abstract namespace`() throws {
        try TemporaryFolder.with { folder in
            let socket = try NotificationSocket(at: "@" + folder.path)
            try Datagram.send("message", to: "@" + folder.path)
            #expect(socket.received() == "message")
        }
    }

    @Test func `a socket that does not exist, or cannot, is an error that names it`() throws {
        try TemporaryFolder.with { folder in
            for path in [folder.file("nobody"), folder.file(String(repeating: "x", count: 200))] {
                let error = #expect(throws: IOError.self) { try Datagram.send("message", to: path) }
                #expect(error?.message.contains(path) == true)
            }
        }
    }

    @Test func `a receiver that does not read does not stop the sender`() throws {
        try TemporaryFolder.with { folder in
            let socket = try NotificationSocket(at: folder.file("socket"))
            let error = #expect(throws: IOError.self) {
                while true { try Datagram.send("message", to: folder.file("socket")) }
            }
            #expect(error?.code == .exhausted)
            #expect(socket.received() == "message")
        }
    }
}
