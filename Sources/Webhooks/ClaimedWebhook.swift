import CarillonPostgres

/// A webhook whose batch this worker attempts to post.
struct ClaimedWebhook: Decodable, Sendable {
    let id: Int64
    let name: String
    let app: String
    let url: String
    let ca: String?
    let allowsPrivate: Bool
    let secrets: [String]
    let batchId: String
    let batchAt: Moment
    let attempt: Int32
    let failingSeconds: Double?
    /// Its last attempt failed or was slow.
    let isApart: Bool
}
