import Postgres

/// The statements about apps, and how their rows are read.
enum AppStatements {
    static let add = Statement(
        "app_add",
        """
        INSERT INTO carillon.apps (name, topic, certificate_id, environment, protocol, gateway, gateway_ca,
            feedback_gateway, max_rate, max_attempts, reap_bad_tokens)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, coalesce($10, 10), $11)
        """
    )

    static let list = Statement(
        "app_list",
        """
        SELECT a.id, a.name, a.topic, c.name AS credential, a.environment, a.protocol, a.gateway, a.gateway_ca,
            a.feedback_gateway, a.paused, a.paused_reason, a.max_rate, a.max_attempts, a.reap_bad_tokens, a.created_at,
            a.updated_at
        FROM carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id ORDER BY a.name
        """
    )

    /// The whole row but its state, held until the change of it is written.
    static let settings = Statement(
        "app_settings",
        """
        SELECT a.name, a.topic, c.name AS credential, a.environment, a.protocol, a.gateway, a.gateway_ca,
            a.feedback_gateway, a.max_rate, a.max_attempts, a.reap_bad_tokens
        FROM carillon.apps a LEFT JOIN carillon.certificates c ON c.id = a.certificate_id WHERE a.name = $1
        FOR UPDATE OF a
        """
    )

    static let change = Statement(
        "app_change",
        """
        UPDATE carillon.apps SET name = $1, topic = $2, certificate_id = $3, environment = $4, protocol = $5,
            gateway = $6, gateway_ca = $7, feedback_gateway = $8, max_rate = $9, max_attempts = coalesce($10, 10),
            reap_bad_tokens = $11
        WHERE name = $12
        """
    )

    static let setPaused = Statement("app_set_paused", "UPDATE carillon.apps SET paused = $2 WHERE name = $1")

    static let pending = Statement(
        "app_pending",
        """
        SELECT (SELECT count(*) FROM carillon.messages WHERE app_id = $1)
            + (SELECT count(*) FROM carillon.scheduled WHERE app_id = $1)
            + (SELECT coalesce(sum(cardinality(jobs)), 0) FROM carillon.inflight WHERE app_id = $1)
        """
    )

    static let losses = Statement(
        "app_losses",
        """
        SELECT (SELECT count(*) FROM carillon.tokens WHERE app_id = $1) AS tokens,
            (SELECT count(*) FROM carillon.feedback WHERE app_id = $1) AS feedback,
            (SELECT count(*) FROM carillon.dedupe WHERE app_id = $1) AS dedupe_keys,
            (SELECT count(*) FROM carillon.watched_tables WHERE app_id = $1) AS watched_tables,
            (SELECT count(*) FROM carillon.results WHERE app_id = $1)
                + (SELECT count(*) FROM carillon.failures WHERE app_id = $1) AS history
        """
    )

    static let removal = [
        Statement("app_remove_tokens", "DELETE FROM carillon.tokens WHERE app_id = $1"),
        Statement("app_remove_feedback", "DELETE FROM carillon.feedback WHERE app_id = $1"),
        Statement("app_remove_hold", "DELETE FROM carillon.holds WHERE app_id = $1"),
        Statement("app_remove_keys", "DELETE FROM carillon.dedupe WHERE app_id = $1"),
        Statement("app_remove", "DELETE FROM carillon.apps WHERE id = $1"),
    ]

    static func parameters(_ app: NewApp, _ certificateID: Int32?) -> Parameters {
        var parameters = Parameters(app.name, app.topic, certificateID)
        for value in [app.environment, app.protocol, app.gateway, app.gatewayCA, app.feedbackGateway] {
            parameters.append(value)
        }
        parameters.append(app.maxRate)
        parameters.append(app.maxAttempts)
        parameters.append(app.reapsBadTokens)
        return parameters
    }

    static func parameters(name: String) -> Parameters {
        Parameters(name)
    }

    static func parameters(id: Int32) -> Parameters {
        Parameters(id)
    }

    static func app(_ rows: borrowing Rows, _ row: Int) throws -> StoredApp {
        StoredApp(
            id: try rows.int32(row, "id"),
            settings: try settings(rows, row),
            maxAttempts: try rows.int32(row, "max_attempts"),
            isPaused: try rows.bool(row, "paused"),
            pauseReason: try rows.stringIfPresent(row, "paused_reason"),
            createdAt: try rows.timestamp(row, "created_at"),
            updatedAt: try rows.timestamp(row, "updated_at")
        )
    }

    static func settings(_ rows: borrowing Rows, _ row: Int) throws -> NewApp {
        NewApp(
            name: try rows.string(row, "name"),
            topic: try rows.stringIfPresent(row, "topic"),
            credential: try rows.stringIfPresent(row, "credential"),
            environment: try rows.string(row, "environment"),
            protocol: try rows.string(row, "protocol"),
            gateway: try rows.stringIfPresent(row, "gateway"),
            gatewayCA: try rows.stringIfPresent(row, "gateway_ca"),
            feedbackGateway: try rows.stringIfPresent(row, "feedback_gateway"),
            maxRate: try rows.int32IfPresent(row, "max_rate"),
            maxAttempts: try rows.int32(row, "max_attempts"),
            reapsBadTokens: try rows.bool(row, "reap_bad_tokens")
        )
    }
}
