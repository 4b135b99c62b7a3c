/// For backends that are written outside: a batch, push by push.
extension PushBatch {
    /// The token of the push at that place.
    public func token(of position: Int) -> String {
        String(decoding: bytes[pushes[position].token.range], as: UTF8.self)
    }

    /// The identity of the push at that place.
    public func id(of position: Int) -> PushID { pushes[position].id }

    /// The payload of the push at that place.
    public func payload(of position: Int) -> [UInt8] {
        Array(bytes[headings[Int(pushes[position].heading)].payload.range])
    }

    /// The topic of the push at that place, or nil where the certificate decides.
    public func topic(of position: Int) -> String? { text(fields(of: position).topic) }

    /// The collapse identifier of the push at that place.
    public func collapseID(of position: Int) -> String? { text(fields(of: position).collapseID) }

    /// The kind of the push at that place.
    public func pushType(of position: Int) -> PushType { fields(of: position).pushType }

    /// The priority of the push at that place.
    public func priority(of position: Int) -> UInt8? { fields(of: position).priority }

    /// Until when Apple keeps trying, in seconds since 1970.
    public func expiration(of position: Int) -> Int64? { fields(of: position).expiration }

    private func fields(of position: Int) -> Fields {
        fields[Int(headings[Int(pushes[position].heading)].fields)]
    }

    private func text(_ extent: Extent) -> String? {
        extent.count == 0 ? nil : String(decoding: bytes[extent.range], as: UTF8.self)
    }
}
