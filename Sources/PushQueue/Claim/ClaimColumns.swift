import CarillonPostgres

/// Where the columns of the answer to a claim are: found by name once for each answer, then read by position.
///
/// The answer has one row for the claim, one for each job, and one for the first row that did not fit, in no order.
struct ClaimColumns {
    /// Of the row that stands for the claim; null in all others.
    let claim: Rows.Column
    let claimedAt: Rows.Column
    let quarantined: Rows.Column
    /// Of the row that did not fit; null in all others.
    let unfitPushes: Rows.Column
    let id: Rows.Column
    let tokens: Rows.Column
    let payload: Rows.Column
    let payloads: Rows.Column
    let pushType: Rows.Column
    let priority: Rows.Column
    let expiresAt: Rows.Column
    let collapseID: Rows.Column
    let topic: Rows.Column
    /// True, or null.
    let topicNotAllowed: Rows.Column
    let reference: Rows.Column
    let onUnknown: Rows.Column
    let attempt: Rows.Column
    let origin: Rows.Column
    let broadcast: Rows.Column
    let createdAt: Rows.Column
    /// True, or null.
    let mayHaveArrived: Rows.Column

    init(_ rows: borrowing Rows) throws(PostgresError) {
        claim = try rows.position(of: "claim")
        claimedAt = try rows.position(of: "claimed_at")
        quarantined = try rows.position(of: "quarantined")
        unfitPushes = try rows.position(of: "unfit_pushes")
        id = try rows.position(of: "id")
        tokens = try rows.position(of: "tokens")
        payload = try rows.position(of: "payload")
        payloads = try rows.position(of: "payloads")
        pushType = try rows.position(of: "push_type")
        priority = try rows.position(of: "priority")
        expiresAt = try rows.position(of: "expires_at")
        collapseID = try rows.position(of: "collapse_id")
        topic = try rows.position(of: "topic")
        topicNotAllowed = try rows.position(of: "topic_not_allowed")
        reference = try rows.position(of: "reference")
        onUnknown = try rows.position(of: "on_unknown")
        attempt = try rows.position(of: "attempt")
        origin = try rows.position(of: "origin")
        broadcast = try rows.position(of: "broadcast_id")
        createdAt = try rows.position(of: "created_at")
        mayHaveArrived = try rows.position(of: "may_have_arrived")
    }
}
