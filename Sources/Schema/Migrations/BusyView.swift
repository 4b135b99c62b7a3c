/// A view that is being read was not replaced, and can be tried again.
struct BusyView: Error {
    let error: SchemaError
}
