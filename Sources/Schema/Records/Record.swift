package import CarillonText

/// A row that is read by the names of its columns. Its JSON has the same names.
package protocol Record: Decodable, JSONConvertible, Sendable {}
