/// Something worth a line in the log. Its receiver must not block.
package enum WorkerEvent: Sendable {
    case started(worker: Int64)
    case databaseLost(String)
    /// A try to reconnect failed. So many before it failed for the same reason and were not told.
    case databaseAway(String, untold: Int)
    case databaseBack
    /// A statement failed and will be tried again. So many of the same kind failed before it and were not told.
    case databaseError(String, untold: Int)
    /// The same of a statement that waited too long for a lock, with the holders that can be seen.
    case lockMet(String, untold: Int, holders: [LockHolder])
    /// Others had declared this worker dead. It goes on with another id.
    case leaseLost(worker: Int64)
    /// A claim was settled too late: another worker had taken it over.
    case stale(claim: Int64)
    /// PostgreSQL refused to write the outcomes of a message. Not written: history has nothing of it.
    case unrecorded(app: String, message: Int64, error: String, isWritten: Bool)
    /// PostgreSQL refuses to let a message leave `inflight`. It is tried again until the cause is removed.
    case cannotEnd(app: String, message: Int64, error: String)
    case tookOver(workers: Int, claims: Int, jobs: Int)
    /// A message had more tokens than may be in flight, and was cut.
    case split(app: Int32, message: Int64, parts: Int)
    case trouble(app: Int32, name: String, Trouble, heldFor: Duration)
    case troubleOver(app: Int32, name: String)
    /// How many pushes of an app were tried again since this was told last, for that cause.
    case retrying(app: Int32, name: String, RetryCause, pushes: Int)
    /// How many pushes of an app failed because of their topic since this was told last, and how many were sent meanwhile. The
    /// topic is that of one of them; nil: the credential decides.
    case topicRefused(
        app: Int32,
        name: String,
        topic: String?,
        status: Int16,
        reason: String,
        pushes: Int,
        sent: Int
    )
    /// This worker has minted the provider token of a key that the whole fleet uses from now on.
    case tokenMinted(String)
    /// A certificate that an app uses has so many days left. Below 0: it has expired.
    case credentialExpires(name: String, days: Int64)
    case maintained
    /// A step of maintenance failed. The others went on, and it is tried again within minutes. The holders are those of a lock
    /// that it met.
    case maintenanceFailed(step: String, error: String, holders: [LockHolder])
    /// This worker has read an app's legacy feedback list, or tried to.
    case feedbackRead(FeedbackLists.Summary)
    /// This worker has run a feedback pass, or a part of one.
    case reaped(FeedbackTally, in: Duration)
    /// Most pushes of an app failed as BadDeviceToken, so it was paused.
    case breakerOpened(app: Int32, name: String, reason: String)
    case draining
    case gaveUp
    case ended
}
