import ApplePush
import ApplePushSimulator
import TestSupport

extension TestQueue {
    /// A queue whose app sends with a signing key to a simulator that records what arrives.
    static func with(
        simulator change: (inout SimulatorConfiguration) throws -> Void,
        _ body: (TestQueue, APNsSimulator) async throws -> Void
    ) async throws {
        try await APNsSimulator.with {
            $0.recordsRequests = true
            try change(&$0)
        } _: { simulator in
            try await with { queue in
                try await queue.database.run(
                    """
                    UPDATE carillon.certificates SET certificate = NULL, key_id = 'ABC123DEFG', team_id = 'DEF123GHIJ',
                        private_key = '\(try APNsSimulator.makeSigningKey())';
                    UPDATE carillon.apps SET gateway = 'localhost:\(simulator.port)', gateway_ca = '\(simulator.rootPEM)'
                    """
                )
                try await body(queue, simulator)
            }
        }
    }
}
