import CarillonPostgres

/// Where the columns of the rows of a claim are: found by name once for each claim, then read by position.
///
/// There is one row for the claim, one for each job, and one for the first row that did not fit, in no order. Most messages
/// use few columns: those that are null in every row are nil here, and cost nothing more.
struct ClaimColumns {
    /// Of the row that stands for the claim; null in all others.
    let claim: Rows.Column
    let claimedAt: Rows.Column
    let quarantined: Rows.Column
    /// Of the row that did not fit; null in all others.
    let unfitPushes: Rows.Column?
    let id: Rows.Column
    let tokens: Rows.Column
    let payload: Rows.Column?
    let payloads: Rows.Column?
    let pushType: Rows.Column?
    let priority: Rows.Column?
    let expiresAt: Rows.Column?
    let collapseID: Rows.Column?
    let topic: Rows.Column?
    /// True, or null.
    let topicNotAllowed: Rows.Column?
    let reference: Rows.Column?
    let onUnknown: Rows.Column?
    let attempt: Rows.Column?
    let origin: Rows.Column?
    let broadcast: Rows.Column?
    let createdAt: Rows.Column
    /// True, or null.
    let mayHaveArrived: Rows.Column?

    init(_ rows: borrowing Rows) throws(PostgresError) {
        claim = try rows.position(of: "claim")
        claimedAt = try rows.position(of: "claimed_at")
        quarantined = try rows.position(of: "quarantined")
        unfitPushes = try rows.positionIfUsed(of: "unfit_pushes")
        id = try rows.position(of: "id")
        tokens = try rows.position(of: "tokens")
        payload = try rows.positionIfUsed(of: "payload")
        payloads = try rows.positionIfUsed(of: "payloads")
        pushType = try rows.positionIfUsed(of: "push_type")
        priority = try rows.positionIfUsed(of: "priority")
        expiresAt = try rows.positionIfUsed(of: "expires_at")
        collapseID = try rows.positionIfUsed(of: "collapse_id")
        topic = try rows.positionIfUsed(of: "topic")
        topicNotAllowed = try rows.positionIfUsed(of: "topic_not_allowed")
        reference = try rows.positionIfUsed(of: "reference")
        onUnknown = try rows.positionIfUsed(of: "on_unknown")
        attempt = try rows.positionIfUsed(of: "attempt")
        origin = try rows.positionIfUsed(of: "origin")
        broadcast = try rows.positionIfUsed(of: "broadcast_id")
        createdAt = try rows.position(of: "created_at")
        mayHaveArrived = try rows.positionIfUsed(of: "may_have_arrived")
    }
}
