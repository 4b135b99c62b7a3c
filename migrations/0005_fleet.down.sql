DROP VIEW carillon.provider_token_input;
DROP TABLE carillon.maintenance, carillon.fleet_tasks, carillon.breakers, carillon.provider_tokens, carillon.device_slots,
    carillon.rates;
DROP TYPE carillon.paced_push, carillon.device_slot;

DELETE FROM carillon.schema_migrations WHERE version = 5;
