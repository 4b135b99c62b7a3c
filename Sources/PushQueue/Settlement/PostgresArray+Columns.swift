import CarillonPostgres

extension PostgresArray {
    /// A column whose every value is the default is left empty.
    init<Value: PostgresValue & Equatable>(column values: some Collection<Value>, default value: Value) {
        if values.allSatisfy({ $0 == value }) { self.init(of: Value.type) } else { self.init(values) }
    }

    /// A column of nulls is left empty.
    init<Value: PostgresValue>(column values: some Collection<Value?>) {
        if values.contains(where: { $0 != nil }) { self.init(values) } else { self.init(of: Value.type) }
    }
}
