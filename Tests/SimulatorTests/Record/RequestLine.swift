import FoundationEssentials

/// A line of the simulator's log, as far as tests look at it.
struct RequestLine: Decodable {
    let time: String?
    let connection: Int?
    let stream: Int?
    let apns_id: String?
    let token: String?
    let topic: String?
    let priority: Int?
    let expiration: Int64?
    let collapse_id: String?
    let status: Int?
    let reason: String?
    let detail: String?
    let method: String?
    let path: String?
    let bytes: Int?
    let sha256: String?
    let payload: String?

    /// Reads whole lines. Throws for a line that is not JSON.
    static func all(in text: [UInt8]) throws -> [RequestLine] {
        try text.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(RequestLine.self, from: Data($0)) }
    }
}
