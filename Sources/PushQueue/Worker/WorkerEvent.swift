/// An event for the log. Its receiver must not block.
package enum WorkerEvent: Sendable {
    case started(worker: Int64)
    case databaseLost(String)
    /// An attempt to reconnect failed. The number says how many errors of the same kind were not logged before it.
    case databaseAway(String, suppressed: Int)
    case databaseBack
    /// A statement failed and is tried again.
    case databaseError(String, suppressed: Int)
    /// A statement waited too long for a lock, and is tried again. The holders are those that can be seen.
    case lockMet(String, suppressed: Int, holders: [LockHolder])
    /// Another worker has declared this one dead. It goes on with a new id.
    case leaseLost(worker: Int64)
    /// Another worker had taken a claim over before it was settled.
    case stale(claim: Int64)
    /// PostgreSQL rejected the outcomes of a message. Not written: it also rejected the counts.
    case unrecorded(app: String, message: Int64, error: String, isWritten: Bool)
    /// PostgreSQL rejects every statement that would end a message. The worker tries until the cause is removed.
    case cannotEnd(app: String, message: Int64, error: String)
    case tookOver(workers: Int, claims: Int, jobs: Int)
    /// A message had more tokens than one job may have, and was split.
    case split(app: Int32, message: Int64, parts: Int)
    case held(app: Int32, name: String, Hold, for: Duration)
    case holdEnded(app: Int32, name: String)
    /// How many pushes of an app were tried again for that cause since this was logged last.
    case retrying(app: Int32, name: String, RetryCause, pushes: Int)
    /// How many pushes of an app failed because of their topic since this was logged last, and how many were sent meanwhile.
    /// The topic is that of one of them; nil: the credential decides.
    case topicRefused(app: Int32, name: String, topic: String?, status: Int16, reason: String, pushes: Int, sent: Int)
    /// This worker has minted the provider token that the fleet uses from now on.
    case tokenMinted(String)
    /// A certificate in use expires soon. Below 0: it has expired.
    case credentialExpires(name: String, days: Int64)
    case maintained
    /// A step of maintenance failed, and is tried again within minutes. The holders are those of a lock that it waited for.
    case maintenanceFailed(step: String, error: String, holders: [LockHolder])
    case feedbackRead(FeedbackLists.Summary)
    /// This worker has run a feedback pass or a part of one.
    case reaped(FeedbackTally, in: Duration)
    /// An app was paused because most of its pushes failed as BadDeviceToken, or because of their topic.
    case breakerOpened(app: Int32, name: String, reason: String)
    /// Apple has made a channel.
    case channelMade(app: Int32, reference: String, channel: String)
    /// The request was taken over before the channel was recorded. The next comparison removes it.
    case channelMadeTooLate(app: Int32, reference: String, channel: String)
    /// The channels of an app could not be compared with Apple's list.
    case channelsNotCompared(app: Int32, error: String)
    /// A request about a channel failed. It is repeated unless that is final.
    case channelFailed(app: Int32, reference: String, error: String, isFinal: Bool)
    /// The channels of an app were compared with Apple's list, and differ.
    case channelsCompared(app: String, unknown: Int, missing: Int, removed: Int)
    case draining
    case gaveUp
    case ended
}
