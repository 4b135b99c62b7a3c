package import CarillonIO
package import CarillonPostgres
import Glibc

extension PrivateCluster {
    /// The process ID of the server, whose children are its other processes.
    nonisolated var server: Int32 {
        get throws {
            let file = folder + "/server.pid"
            guard let server = Int32(try TemporaryFolder.text(of: file).prefix(while: \.isNumber)) else {
                throw IOError(.system, "\(file) has no process ID")
            }
            return server
        }
    }

    /// Kills the server with SIGKILL, and starts it again once its other processes have noticed and ended.
    package nonisolated func killAndRestart(on loop: EventLoop) async throws {
        let server = try self.server
        let others = try await Suspension.with(on: loop) { suspension in
            // Once it is suspended, it starts no other process.
            try await suspension.add([server])
            let others = try Suspension.children(of: server)
            kill(server, SIGKILL)
            return others
        }
        // No server starts while one of them is attached to the shared memory.
        try await loop.eventually("the processes of the killed server have ended") {
            others.allSatisfy { Suspension.hasEnded($0) }
        }
        try await restart(.immediate)
    }
}
