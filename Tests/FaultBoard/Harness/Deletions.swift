/// Records the device tokens that feedback passes delete, for the audit (I13).
enum Deletions {
    static let keep = """
        CREATE TABLE deletions (app_id integer, token text, last_update timestamptz);
        CREATE FUNCTION note_deletion() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
            INSERT INTO public.deletions VALUES (OLD.app_id, OLD.token, OLD.last_update);
            RETURN NULL;
        END $$;
        CREATE TRIGGER note_deletion AFTER DELETE ON carillon.tokens FOR EACH ROW
        WHEN (current_query() LIKE '%reap%') EXECUTE FUNCTION note_deletion()
        """

    /// Those without a reason: each was registered after all its feedback.
    static let wrong = """
        SELECT d.token FROM deletions d WHERE NOT EXISTS (
            SELECT FROM carillon.feedback f WHERE f.app_id = d.app_id AND lower(f.token) = d.token
            AND least(f.unregistered_at, f.seen_at) > d.last_update)
        """
}
