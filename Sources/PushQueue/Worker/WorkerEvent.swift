/// Something worth a line in the log. Whoever receives it must not block.
package enum WorkerEvent: Sendable {
    case started(worker: Int64)
    case databaseLost(String)
    /// It cannot be connected with again, for that reason; so many tries failed for the same before and were not told.
    case databaseAway(String, untold: Int)
    case databaseBack
    /// A statement failed and will be tried again; so many of the same kind failed before it and were not told.
    case databaseError(String, untold: Int)
    /// The same of a statement that waited for a lock for as long as it may, with those who hold it, as far as that can be
    /// seen.
    case lockMet(String, untold: Int, holders: [LockHolder])
    /// Others had declared this worker dead; it goes on under another number.
    case leaseLost(worker: Int64)
    /// What became of a claim was not this worker's to write any more.
    case stale(claim: Int64)
    /// PostgreSQL refused to write what became of a message, with that error: history has as much as could be written, or
    /// nothing.
    case unrecorded(app: String, message: Int64, error: String, isWritten: Bool)
    /// PostgreSQL refuses to let a message leave `inflight`, with that error. It is tried again until somebody mends that.
    case cannotEnd(app: String, message: Int64, error: String)
    case tookOver(workers: Int, claims: Int, jobs: Int)
    /// A message had more tokens than may be in flight, and was cut.
    case split(app: Int32, message: Int64, parts: Int)
    case trouble(app: Int32, name: String, Trouble, heldFor: Duration)
    case troubleOver(app: Int32, name: String)
    /// Pushes of an app are tried again; how many since this was told last, for that cause.
    case retrying(app: Int32, name: String, RetryCause, pushes: Int)
    /// Pushes of an app fail for good because of their topic: how many since this was told last, for that reason, and how
    /// many were sent meanwhile. The topic is that of one of them; none: the credential was to decide.
    case topicRefused(
        app: Int32,
        name: String,
        topic: String?,
        status: Int16,
        reason: String,
        pushes: Int,
        sent: Int
    )
    /// This worker has minted the provider token that the whole fleet uses from now on; of which key.
    case tokenMinted(String)
    /// A certificate that an app uses has so many days left; less than none: it has expired.
    case credentialExpires(name: String, days: Int64)
    case maintained
    /// A step of maintenance failed; the others went on, and it is tried again within minutes. Where it met a lock: those
    /// who hold it, as far as that can be seen.
    case maintenanceFailed(step: String, error: String, holders: [LockHolder])
    /// This worker has read an app's list of the legacy feedback service, or tried to.
    case feedbackRead(FeedbackReport)
    /// This worker has run a feedback pass, or as much of it as it could.
    case reaped(FeedbackTally, in: Duration)
    /// Most pushes of an app failed as BadDeviceToken: it was paused, for that reason.
    case breakerOpened(app: Int32, name: String, reason: String)
    case draining
    case gaveUp
    case ended
}
