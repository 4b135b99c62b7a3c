import ApplePush
import CarillonPostgres

/// A request about a channel that a worker has taken for a minute.
struct ChannelTask: RowReadable, Sendable {
    let app: Int32
    let reference: String
    let policy: MessageStoragePolicy
    /// Apple's id, once it is known.
    let channel: ChannelID?
    let isRemoval: Bool
    /// The number of this request: what an earlier one brings is not recorded.
    let attempt: Int32

    /// What Apple is asked for; nil: nothing, because a channel that has no id is gone without Apple.
    var action: ChannelRequest.Action? {
        guard isRemoval else { return .create(policy) }
        return channel.map { .remove($0) }
    }

    init(_ rows: borrowing Rows, _ row: Int) throws(PostgresError) {
        app = try rows.int32(row, "app_id")
        reference = try rows.string(row, "reference")
        policy = try rows.int16(row, "policy") == 1 ? .lastMessage : .nothing
        channel = try rows.stringIfPresent(row, "channel_id").map { ChannelID($0) }
        isRemoval = try rows.bool(row, "is_removal")
        attempt = try rows.int32(row, "attempt")
    }
}
