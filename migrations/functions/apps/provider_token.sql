-- The provider tokens that workers share, because APNs refuses new ones that come too often. A worker calls provider_token() when
-- it needs one for a signing key, in each of its databases that has the key.

-- A token is replaced after fifty minutes, or sooner if APNs refused it as expired, but never within twenty minutes or before
-- rests_until. A token from the future was minted before the clock was set back, and a rest that is too long began before that. The
-- row may have any times.
CREATE OR REPLACE FUNCTION carillon.seconds_to_renewal(known carillon.provider_tokens, refused_at bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    -- Seconds.
    usual_life CONSTANT integer := 3000;
    refused_life CONSTANT integer := 1200;
    clock_error CONSTANT integer := 60;
    clock CONSTANT bigint := floor(extract(epoch FROM clock_timestamp()));
    earliest CONSTANT timestamptz := '2000-01-01 00:00+00';
    latest CONSTANT timestamptz := '2200-01-01 00:00+00';
    made_at CONSTANT bigint := floor(extract(epoch FROM least(greatest(known.issued_at, earliest), latest)));
    age CONSTANT bigint := clock - made_at;
    rest bigint := ceil(extract(epoch FROM least(greatest(known.rests_until, earliest), latest))) - clock;
BEGIN
    IF rest > refused_life + clock_error THEN
        rest := 0;
    END IF;
    IF known.jwt IS NULL OR age < -clock_error
        OR rest <= 0 AND (age >= CASE WHEN made_at = refused_at THEN refused_life ELSE usual_life END)
    THEN
        RETURN 0;
    END IF;
    RETURN greatest(usual_life - age, rest, 1);
END
$$;
COMMENT ON FUNCTION carillon.seconds_to_renewal IS
    'Internal: returns how long a provider token is used; 0 if there is none, or if a new one is to be minted.';

-- If provider_token() returns null, the caller must mint a token with the time in `clock`, copy it into provider_token_input, and
-- call again. If another worker was faster, its token is returned. A token that another database has takes the place of a new one.
--
-- `since` is certificates.updated_at as the caller knows it, so a token of an old key is never returned for a new one. `refused_at`
-- is when the token that APNs refused was minted.
CREATE OR REPLACE FUNCTION carillon.provider_token(
    credential integer, since timestamptz, refused_at bigint,
    OUT token text, OUT made_at bigint, OUT renews_in bigint, OUT clock bigint
)
LANGUAGE plpgsql SET search_path = pg_catalog, carillon, pg_temp AS $$
DECLARE
    known carillon.provider_tokens;
BEGIN
    clock := floor(extract(epoch FROM clock_timestamp()));
    SELECT p.* INTO known FROM carillon.provider_tokens p JOIN carillon.certificates c ON c.id = p.certificate_id
    WHERE c.id = credential AND c.updated_at = since;
    renews_in := carillon.seconds_to_renewal(known, refused_at);
    IF renews_in > 0 THEN
        token := known.jwt;
        made_at := floor(extract(epoch FROM greatest(known.issued_at, '2000-01-01 00:00+00')));
    END IF;
END
$$;
COMMENT ON FUNCTION carillon.provider_token IS 'Internal: returns the provider token of a signing key, which workers share.';
