import CarillonPostgres

/// The statements of channels. Each is a transaction of its own.
enum ChannelStatements {
    static let areDue = Statement(
        "channels_due",
        """
        SELECT EXISTS (SELECT FROM carillon.channels c JOIN carillon.apps a ON a.id = c.app_id
            WHERE c.state IN ('requested', 'removing') AND c.next_attempt_at <= now() AND NOT a.paused)
        """
    )

    static let take = Statement("take_channels", "SELECT t.* FROM carillon.take_channels(1, $1) t")

    /// A commit that a crash of the server loses would lose the id for ever.
    static let made = Statement(
        "channel_made",
        "SELECT carillon.channel_made($1, $2, $3, $4) FROM set_config('synchronous_commit', 'on', true)"
    )

    static let failed = Statement(
        "channel_failed",
        "SELECT carillon.channel_failed($1, $2, $3, $4, make_interval(secs => $5), $6)"
    )

    static let gone = Statement("channel_gone", "SELECT carillon.channel_gone($1, $2, $3)")

    static let listed = Statement(
        "channels_listed",
        """
        SELECT l.channel_id, l.reference, l.state, coalesce(l.is_ours, false) AS is_ours, l.first_seen_at
        FROM carillon.channels_listed($1, $2::text[], $3) l
        """
    )

    static let clock = Statement("channels_clock", "SELECT clock_timestamp()")

    /// The apps whose channels are compared with Apple's lists: those that have or had any.
    static let listedApps = Statement(
        "channel_apps",
        """
        SELECT a.id FROM carillon.apps a WHERE NOT a.paused AND a.protocol = 'http2' AND (a.remove_unknown_channels
            OR EXISTS (SELECT FROM carillon.channels c WHERE c.app_id = a.id)
            OR EXISTS (SELECT FROM carillon.unknown_channels s WHERE s.app_id = a.id))
        ORDER BY a.id
        """
    )

    static let forget = Statement(
        "forget_unknown_channel",
        """
        WITH gone AS (DELETE FROM carillon.unknown_channels s WHERE s.app_id = $1 AND s.channel_id = $2 RETURNING s.*)
        SELECT carillon.record_of_person('remove channel', g.app_id, jsonb_build_object('channel_id', g.channel_id)) FROM gone g
        """
    )
}
