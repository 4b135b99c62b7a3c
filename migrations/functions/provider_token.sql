-- The provider tokens that workers share, because APNs refuses new ones that come too often. A worker calls provider_token() when
-- it needs one for a signing key. Only a call with a new token takes a lock: one caller for each key.

-- If provider_token() returns null, the caller must mint a token with the time in `clock` and call again with it. If another worker
-- was faster, its token is returned. A token is replaced after fifty minutes, or sooner if APNs refused it as expired, but never
-- within twenty minutes or before rests_until. A token from the future was minted before the clock was set back.
--
-- `since` is certificates.updated_at as the caller knows it, so a token of an old key is never returned for a new one.
CREATE OR REPLACE FUNCTION carillon.provider_token(
    credential integer, since timestamptz, refused text, minted text, minted_at bigint,
    OUT token text, OUT made_at bigint, OUT renews_in bigint, OUT clock bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- Seconds.
    usual_life CONSTANT integer := 3000;
    refused_life CONSTANT integer := 1200;
    clock_error CONSTANT integer := 60;
    known carillon.provider_tokens;
    age bigint;
    rest bigint;
BEGIN
    IF minted IS NOT NULL THEN
        -- One caller at a time: the next one finds what this one wrote. The lock ends with the statement. It is a row's, because
        -- every login may take an advisory lock, and could keep the fleet from minting.
        PERFORM FROM carillon.certificates c WHERE c.id = credential AND c.updated_at = since FOR NO KEY UPDATE;
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
    IF known.jwt IS NULL OR NOT (
        rest > 0 OR age >= -clock_error AND age < CASE WHEN known.jwt = refused THEN refused_life ELSE usual_life END)
    THEN
        -- The minted token took too long to arrive.
        IF minted IS NULL OR minted_at NOT BETWEEN clock - clock_error AND clock + clock_error THEN
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
    renews_in := greatest(usual_life - age, rest, 1);
END
$$;
COMMENT ON FUNCTION carillon.provider_token IS 'Internal: returns the provider token of a signing key, which workers share.';
