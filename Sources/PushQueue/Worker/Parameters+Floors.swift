import Postgres

/// Lanes and where they begin, as the statements that look for rows take them.
extension Parameters {
    /// For `WorkerStatements.lookBelow`.
    static func floors(_ floors: [(lane: Lane, id: Int64)]) -> Parameters {
        var apps = PostgresArray(of: .int4)
        var numbers = PostgresArray(of: .int2)
        var ids = PostgresArray(of: .int8)
        for floor in floors {
            apps.append(floor.lane.app)
            numbers.append(floor.lane.number)
            ids.append(floor.id)
        }
        var parameters = Parameters()
        parameters.append(apps)
        parameters.append(numbers)
        parameters.append(ids)
        return parameters
    }

    /// For `WorkerStatements.look`: its walk begins before the first lane there could be.
    static func look(above floors: [(lane: Lane, id: Int64)]) -> Parameters {
        Self.floors([(Lane(app: .min, number: .min), .max)] + floors)
    }
}
