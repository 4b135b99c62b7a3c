-- The provider token of the fleet: one for each signing key, renewed by the database's clock, by whoever comes first.

-- The token that all workers use. Null: one is to be minted with the time in `clock`, and brought by calling again. Who
-- brings one gets another one back if that was written first. It is replaced when it is fifty minutes old, or sooner if
-- APNs has refused it as too old; never within twenty minutes, nor while it is to rest. One from the future was made by a
-- clock that has been set back since.
--
-- `since` is the certificate's updated_at as the caller knows it: an old key's token never stands in for a new key's.
CREATE FUNCTION carillon.provider_token(
    credential integer, since timestamptz, refused text, minted text, minted_at bigint,
    OUT token text, OUT made_at bigint, OUT renews_in bigint, OUT clock bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    known carillon.provider_tokens;
    age bigint;
    rest bigint;
BEGIN
    IF minted IS NOT NULL THEN
        -- One at a time: the next one waits, and then finds what this one has written. It ends with the statement.
        PERFORM pg_advisory_xact_lock(('carillon.provider_tokens'::regclass::oid::bigint << 32) | credential);
        PERFORM FROM carillon.certificates c WHERE c.id = credential AND c.updated_at = since FOR SHARE;
    ELSE
        PERFORM FROM carillon.certificates c WHERE c.id = credential AND c.updated_at = since;
    END IF;
    clock := floor(extract(epoch FROM clock_timestamp()));
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT p.* INTO known FROM carillon.provider_tokens p WHERE p.certificate_id = credential;
    made_at := floor(extract(epoch FROM known.issued_at));
    age := clock - made_at;
    rest := coalesce(ceil(extract(epoch FROM known.rests_until)) - clock, 0);
    IF known.jwt IS NULL OR NOT (rest > 0 OR age BETWEEN -60 AND CASE WHEN known.jwt = refused THEN 1199 ELSE 2999 END)
    THEN
        -- One that was under way for long is old already.
        IF minted IS NULL OR minted_at NOT BETWEEN clock - 60 AND clock + 60 THEN
            RETURN;
        END IF;
        INSERT INTO carillon.provider_tokens AS p (certificate_id, jwt, issued_at)
        VALUES (credential, minted, to_timestamp(minted_at))
        ON CONFLICT (certificate_id) DO UPDATE
        SET jwt = excluded.jwt, issued_at = excluded.issued_at, rests_until = NULL;
        known.jwt := minted;
        made_at := minted_at;
        age := clock - minted_at;
    END IF;
    token := known.jwt;
    renews_in := greatest(3000 - age, rest, 1);
END
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA carillon FROM PUBLIC;
GRANT EXECUTE ON FUNCTION carillon.provider_token TO carillon_worker;

INSERT INTO carillon.schema_migrations (version, name) VALUES (17, 'provider_token');
