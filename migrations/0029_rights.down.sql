REVOKE ALL ON ALL TABLES IN SCHEMA carillon FROM carillon_app, carillon_tenant, carillon_worker, carillon_reader, carillon_operator;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA carillon FROM carillon_worker;
REVOKE ALL ON ALL ROUTINES IN SCHEMA carillon FROM carillon_app, carillon_tenant, carillon_worker, carillon_reader,
    carillon_operator;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA carillon TO PUBLIC;
GRANT SELECT ON carillon.schema_migrations TO carillon_app, carillon_operator, carillon_reader, carillon_tenant, carillon_worker;

DELETE FROM carillon.schema_migrations WHERE version = 29;
