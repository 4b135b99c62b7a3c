DROP FUNCTION carillon.publish, carillon.submit_publication, carillon.remove_channel, carillon.channel,
    carillon.find_channel, carillon.record_channel, carillon.request_channel;
DROP TYPE carillon.publication;

DELETE FROM carillon.schema_migrations WHERE version = 25;
