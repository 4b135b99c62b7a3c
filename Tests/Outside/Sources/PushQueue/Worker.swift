/// A queue of somebody else, in a module with the name of a folder here.
public struct Worker {
    /// A worker.
    public init() {}
}
