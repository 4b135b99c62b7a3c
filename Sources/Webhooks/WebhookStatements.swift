import CarillonPostgres

enum WebhookStatements {
    static let claim = Statement(
        "webhooks_claim",
        """
        SELECT c.id, c.name, c.app, c.url, c.ca, c.allows_private, c.secrets, c.batch_id::text AS batch_id, c.batch_at, c.attempt,
            c.failing_seconds, c.is_apart
        FROM (SELECT *, false AS is_apart FROM carillon.claim_webhooks($1, false)
            UNION ALL SELECT *, true FROM carillon.claim_webhooks($2, true)) AS c
        """
    )

    static let batch = Statement(
        "webhook_batch",
        "SELECT b.* FROM carillon.webhook_batch($1, $2::text::uuid) AS b"
    )

    static let settle = Statement(
        "webhook_settle",
        "SELECT carillon.settle_webhook($1, $2::text::uuid, $3, $4, $5, $6, $7)"
    )

    static let wait = Statement("webhooks_wait", "SELECT carillon.seconds_to_webhook()")
}
