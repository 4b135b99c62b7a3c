-- Pushes that devices ignore.

-- Most payloads have an alert, and are not parsed.
CREATE OR REPLACE FUNCTION carillon.has_alert(payload text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT payload ~ '"alert":[[:space:]]*["{]' $$;
COMMENT ON FUNCTION carillon.has_alert IS 'Internal: whether a payload has an alert; false if only parsing it would tell.';

-- Apple accepts such a push, but the device shows nothing and wakes no app. Other push types have content of their own.
CREATE OR REPLACE FUNCTION carillon.is_ignored(push_type text, payload text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT push_type IN ('alert', 'background') AND NOT carillon.has_alert(payload)
        AND NOT EXISTS (SELECT FROM json_object_keys(payload::json) AS k WHERE k <> 'aps')
        AND (SELECT num_nonnulls(aps ->> 'alert', aps ->> 'badge', aps ->> 'sound', aps ->> 'content-available') = 0
            FROM (VALUES (payload::json -> 'aps')) AS g(aps))
$$;
COMMENT ON FUNCTION carillon.is_ignored IS 'Internal: whether a device would ignore a payload.';

-- The topic of a pass in Wallet is the identifier of its type. A push makes the device fetch the pass, and its payload is empty.
CREATE OR REPLACE FUNCTION carillon.is_pass_update(m carillon.message_arguments) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT coalesce(coalesce(m.topic, a.topic) LIKE 'pass.%', false) FROM carillon.apps a WHERE a.name = m.app
$$;
COMMENT ON FUNCTION carillon.is_pass_update IS 'Internal: whether a message updates a pass in Wallet.';

CREATE OR REPLACE FUNCTION carillon.note_ignored(payload text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    RAISE NOTICE USING ERRCODE = '01IGN', MESSAGE = 'a device does nothing with this push: its payload has no alert, badge, sound, '
            'content-available or key of your own',
        DETAIL = left(payload, 200), HINT = 'Apple accepts it, and it counts as sent.';
END
$$;
COMMENT ON FUNCTION carillon.note_ignored IS 'Internal: raises the notice about a payload that devices ignore.';
