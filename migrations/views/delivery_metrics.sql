-- What Apple has counted of the pushes that it accepted. Without the barrier, the error of a caller's condition could show an
-- isolated role the counts of other apps.
CREATE OR REPLACE VIEW carillon.delivery_metrics WITH (security_barrier) AS
SELECT a.name AS app, m.day, m.push_type, m.status, m.count,
    CASE WHEN m.count IS NOT NULL THEN 'about' END AS count_precision,
    m.status ILIKE 'delivered%' AS is_delivery
FROM carillon.exported_metrics m JOIN carillon.apps a ON a.id = m.app_id
WHERE coalesce(m.app_id = ANY ((SELECT carillon.apps_of_caller())::integer[]), true);
COMMENT ON VIEW carillon.delivery_metrics IS
    'What Apple has counted of an app''s pushes by day, push type and status, as carillon metrics fetch or import has stored it. A '
    'role that is isolated sees that of its own apps.';
COMMENT ON COLUMN carillon.delivery_metrics.app IS 'the name of the app';
COMMENT ON COLUMN carillon.delivery_metrics.day IS 'the day, in UTC, for which Apple reports the count';
COMMENT ON COLUMN carillon.delivery_metrics.push_type IS 'the push type as Apple names it';
COMMENT ON COLUMN carillon.delivery_metrics.status IS
    'what became of the pushes, as Apple names it, such as delivered, stored or discarded';
COMMENT ON COLUMN carillon.delivery_metrics.count IS 'how many, rounded by Apple; null if Apple hides it because it is small';
COMMENT ON COLUMN carillon.delivery_metrics.count_precision IS 'about, because Apple rounds; null if Apple hides the count';
COMMENT ON COLUMN carillon.delivery_metrics.is_delivery IS 'whether it counts pushes that reached a device: the status begins so';
