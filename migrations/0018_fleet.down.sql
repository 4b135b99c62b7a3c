DROP TABLE carillon.breakers, carillon.provider_tokens, carillon.rates;
DROP FUNCTION carillon.channels_listed, carillon.channels_refused, carillon.channel_gone, carillon.channel_failed, carillon.channel_made,
    carillon.take_channels, carillon.open_breakers, carillon.provider_token, carillon.take_turn;

DELETE FROM carillon.schema_migrations WHERE version = 18;
