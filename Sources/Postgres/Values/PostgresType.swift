/// The types that this program binds and reads, with their OIDs in `pg_type`, which never change.
package struct PostgresType: Hashable, Sendable {
    package let id: UInt32
    /// The type of arrays of it.
    package let arrayID: UInt32

    package static let bool = PostgresType(id: 16, arrayID: 1000)
    package static let bytea = PostgresType(id: 17, arrayID: 1001)
    package static let int8 = PostgresType(id: 20, arrayID: 1016)
    package static let int2 = PostgresType(id: 21, arrayID: 1005)
    package static let int4 = PostgresType(id: 23, arrayID: 1007)
    package static let text = PostgresType(id: 25, arrayID: 1009)
    package static let json = PostgresType(id: 114, arrayID: 199)
    package static let float8 = PostgresType(id: 701, arrayID: 1022)
    package static let timestamptz = PostgresType(id: 1184, arrayID: 1185)
    package static let uuid = PostgresType(id: 2950, arrayID: 2951)
    package static let jsonb = PostgresType(id: 3802, arrayID: 3807)

    /// Whether the binary format is the value's own bytes, so that they can be passed through.
    var takesBytes: Bool { self == .text || self == .json || self == .jsonb || self == .bytea }
}
