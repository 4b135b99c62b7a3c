-- The argument bodies: an alert or a payload for each locale, of which the locale of each token chooses one. Only messages that
-- have this argument call these functions, but for own_payloads().
--
-- Only functions that users call pin search_path. These leave it to them.

-- As apps report locales: de-AT, de_AT, en_US@calendar=buddhist. PostgreSQL inlines this function and the next.
CREATE OR REPLACE FUNCTION carillon.locale_name(locale text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT lower(replace(split_part(split_part(locale, '@', 1), '.', 1), '_', '-') COLLATE "C")
$$;
COMMENT ON FUNCTION carillon.locale_name IS 'Internal: returns the name of a locale as locales in a draft are written.';

-- The body of the locale itself, or else of the locale without its last part, or else of its language, or else the default.
CREATE OR REPLACE FUNCTION carillon.choice_of_body(known text[], name text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_position(known, name), array_position(known, left(name, -position('-' IN reverse(name)))),
        array_position(known, split_part(name, '-', 1)), 1)
$$;
COMMENT ON FUNCTION carillon.choice_of_body IS
    'Internal: returns the place of the body that a locale chooses; the first is the default.';

CREATE OR REPLACE FUNCTION carillon.check_bodies(m carillon.message_arguments) RETURNS carillon.refusal
LANGUAGE plpgsql STABLE AS $$
DECLARE
    max_bodies CONSTANT integer := 200;
    wrong record;
BEGIN
    IF num_nonnulls(m.alert, m.alert_json, m.title, m.subtitle, m.body, m.payload, m.payloads) > 0 THEN
        RETURN carillon.refusal('bodies', 'null if alert, title, subtitle, body, payload or payloads is given', 'a value',
            'Pass what tokens without a locale get as the member "default" of bodies.');
    ELSIF jsonb_typeof(m.bodies) <> 'object' THEN
        RETURN carillon.refusal('bodies', 'a JSON object with an alert for each locale', m.bodies::text);
    ELSIF NOT m.bodies ? 'default' THEN
        RETURN carillon.refusal('bodies', 'an object with the member "default"', 'one without it',
            'It is sent to tokens without a locale, and to those whose language no other member is for.');
    END IF;
    SELECT b.key INTO wrong FROM jsonb_object_keys(m.bodies) AS b(key)
    WHERE carillon.locale_name(b.key) !~ '^[a-z]{2,8}(-[a-z0-9]{1,8})*$' OR b.key ~ '[@.]' ORDER BY b.key LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal('bodies', 'locales such as de or de-AT as the names of its members', quote_literal(wrong.key));
    END IF;
    SELECT string_agg(b.key, ' and ' ORDER BY b.key) AS keys INTO wrong FROM jsonb_object_keys(m.bodies) AS b(key)
    GROUP BY carillon.locale_name(b.key) HAVING count(*) > 1 LIMIT 1;
    IF FOUND THEN
        RETURN carillon.refusal('bodies', 'each locale once', wrong.keys);
    END IF;
    SELECT count(*) AS count INTO wrong FROM jsonb_object_keys(m.bodies);
    IF wrong.count > max_bodies THEN
        RETURN carillon.refusal('bodies', format('at most %s members', max_bodies), wrong.count::text);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION carillon.check_bodies IS
    'Internal: returns the refusal of bodies with other names, or beside arguments that they replace; null if they are valid.';

-- Each body is checked as if it were the only one. A body with the key aps is a payload. One push type applies to all, and one kind
-- of tokens.
CREATE OR REPLACE FUNCTION carillon.draft_of_bodies(m carillon.message_arguments) RETURNS carillon.draft
LANGUAGE plpgsql STABLE AS $$
DECLARE
    one carillon.message_arguments := m;
    made carillon.draft;
    drawn carillon.draft;
    names text[] := '{}';
    payloads text[] := '{}';
    body record;
BEGIN
    drawn.refusal := carillon.check_bodies(m);
    IF (drawn.refusal).message IS NOT NULL THEN
        RETURN drawn;
    END IF;
    one.tokens := NULL;
    one.bodies := NULL;
    FOR body IN SELECT b.key, b.value, b.value ? 'aps' AS is_whole, jsonb_typeof(b.value) AS type FROM jsonb_each(m.bodies) AS b
        ORDER BY b.key <> 'default', b.key
    LOOP
        one.alert_json := CASE WHEN body.type = 'string' OR NOT body.is_whole THEN body.value END;
        one.payload := CASE WHEN one.alert_json IS NULL THEN body.value::text END;
        one.payload_type := 'jsonb'::regtype;
        IF body.type NOT IN ('string', 'object') THEN
            drawn.refusal := carillon.refusal('alert', 'text, or a JSON object', body.value::text);
        ELSIF one.payload IS NOT NULL AND carillon.has_payload_fields(one) THEN
            drawn.refusal := carillon.refusal('alert',
                'text, or an alert without the key aps, if there are other parts of a payload', 'a payload');
        ELSE
            drawn := carillon.draft(one);
        END IF;
        IF (drawn.refusal).message IS NULL AND (drawn.push_type <> made.push_type
            OR carillon.kind_of_push(drawn.push_type, drawn.payload) <> carillon.kind_of_push(made.push_type, made.payload))
        THEN
            drawn.refusal := carillon.refusal('alert', 'a push of type ' || made.push_type || ' for tokens of the same kind',
                drawn.push_type);
        END IF;
        IF (drawn.refusal).message IS NOT NULL THEN
            drawn.refusal.message := regexp_replace((drawn.refusal).message, '^argument "(alert|payload)" takes',
                format('argument "bodies" takes as its member "%s"', body.key));
            drawn.refusal.argument := CASE WHEN (drawn.refusal).argument IN ('alert', 'payload') THEN 'bodies'
                ELSE (drawn.refusal).argument END;
            RETURN drawn;
        END IF;
        IF names = '{}' THEN
            made := drawn;
        END IF;
        names := names || carillon.locale_name(body.key);
        payloads := payloads || drawn.payload;
    END LOOP;
    made.locales := names;
    made.bodies := payloads;
    RETURN made;
END
$$;
COMMENT ON FUNCTION carillon.draft_of_bodies IS
    'Internal: checks the arguments of a message with several bodies, and returns it as draft() does, with its bodies.';

-- Each locale is one lookup by primary key, whichever values the plan was made for.
CREATE OR REPLACE FUNCTION carillon.own_payloads(made carillon.draft, tokens text[], step bigint) RETURNS json[]
LANGUAGE plpgsql AS $$
DECLARE
    badges CONSTANT integer[] :=
        CASE WHEN made.after_badge IS NOT NULL THEN carillon.add_to_badges(made.app_id, tokens, step) END;
BEGIN
    RETURN ARRAY(
        SELECT concat(CASE WHEN made.bodies IS NULL THEN made.payload
            ELSE made.bodies[carillon.choice_of_body(made.locales, carillon.locale_name(k.locale))] END, t.badge,
            made.after_badge)::json
        FROM unnest(tokens, badges) WITH ORDINALITY AS t(token, badge, place) LEFT JOIN LATERAL (
            SELECT r.locale FROM carillon.tokens r
            WHERE made.bodies IS NOT NULL AND r.app_id = made.app_id AND r.token = t.token OFFSET 0) k ON true
        ORDER BY t.place);
END
$$;
COMMENT ON FUNCTION carillon.own_payloads IS
    'Internal: returns the payload of each token of a message with badges or with several bodies.';
