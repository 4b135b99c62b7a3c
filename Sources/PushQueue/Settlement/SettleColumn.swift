import CarillonPostgres

/// One argument of the function `carillon.settle`: its name, its type, and where its value comes from.
struct SettleColumn: Sendable {
    let name: String
    /// The number of its type in `pg_type`.
    let typeID: UInt32
    private let append: @Sendable (SettledClaim, inout Parameters) -> Void

    /// A single value.
    init<Value: PostgresValue>(_ name: String, _ value: @escaping @Sendable (SettledClaim) -> Value) {
        self.name = name
        typeID = Value.type.id
        append = { claim, parameters in parameters.append(value(claim)) }
    }

    /// An array with elements of this type.
    init(_ name: String, _ type: PostgresType, _ values: @escaping @Sendable (SettledClaim) -> PostgresArray) {
        self.name = name
        typeID = PostgresArray(of: type).typeID
        append = { claim, parameters in
            let array = values(claim)
            assert(array.type == type, "\(name) has elements of another type")
            parameters.append(array)
        }
    }

    func append(of claim: SettledClaim, to parameters: inout Parameters) { append(claim, &parameters) }
}
