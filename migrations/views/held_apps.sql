-- Apps that cannot send. A worker removes a hold when pushes of the app are answered, or when the app or its credential changes.
-- In case it cannot, this view ignores a hold after such a change, and after pushes of the app were sent in a later minute.
CREATE OR REPLACE VIEW carillon.held_apps AS
SELECT h.app_id, h.kind, h.reason, h.since, h.next_attempt_at FROM carillon.holds h
JOIN carillon.apps a ON a.id = h.app_id LEFT JOIN carillon.certificates c ON c.id = a.certificate_id
WHERE h.seen_at >= greatest(a.updated_at, c.updated_at) AND NOT EXISTS (
    SELECT FROM carillon.push_counts t
    WHERE t.app_id = h.app_id AND t.minute > date_trunc('minute', h.seen_at) AND t.sent > 0);
COMMENT ON VIEW carillon.held_apps IS 'The apps that cannot send at the moment, with the reasons.';
COMMENT ON COLUMN carillon.held_apps.app_id IS 'the id of the app';
COMMENT ON COLUMN carillon.held_apps.kind IS 'connection, credential, provider_token, token_updates, setting or database';
COMMENT ON COLUMN carillon.held_apps.reason IS 'the reason for the hold, as a sentence';
COMMENT ON COLUMN carillon.held_apps.since IS 'when the hold began';
COMMENT ON COLUMN carillon.held_apps.next_attempt_at IS 'when a worker tries the app again';
