import CarillonWeb

/// What became of a request.
enum ActionResult {
    case page(any PageView)
    /// Something was changed, and this page shows it.
    case done(Link, Notice)
}
