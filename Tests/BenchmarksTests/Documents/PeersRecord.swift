import FoundationEssentials
import TestSupport

/// `docs/peers.json`: what `make peers` has measured, one after the other on one machine.
struct PeersRecord: Decodable {
    struct Peer: Decodable {
        let peer: String
        let version: String
        let settings: String
    }

    /// A peer that could not be run, and why.
    struct Missing: Decodable {
        let peer: String
        let why: String
    }

    /// The figures of a peer with one kind of rows and one distance of the gateway. `h2load`, which has no database, has few.
    struct Measurement: Decodable {
        let peer: String
        /// The tokens of a row.
        let tokens: Int
        /// The milliseconds from a request to its answer.
        let latency: Int
        let rate: Double
        let p50: Double?
        let p99: Double?
        /// Microseconds of processor time a push.
        let worker: Double
        let postgres: Double?
        /// Bytes a push.
        let wal: Double?
        let lost: Int?
        let doubled: Int?
        /// Seconds.
        let overtaken: Double?
    }

    let machine: String
    let commit: String
    let peers: [Peer]
    let missing: [Missing]
    let rows: [Measurement]

    /// The record of the repository; nil if nothing has been recorded yet.
    static func recorded() throws -> PeersRecord? {
        let file = GeneratedPage("docs/peers.json").file
        guard FileManager.default.fileExists(atPath: file) else { return nil }
        return try JSONDecoder().decode(PeersRecord.self, from: try Data(contentsOf: URL(filePath: file)))
    }
}
