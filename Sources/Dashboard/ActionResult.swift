import CarillonWeb

/// What became of a request.
enum ActionResult {
    case page(any PageView)
    /// Nothing was changed. A person sees what was typed, and can correct it.
    case refused(any PageView, PageError)
    /// Something was changed, and this page shows it.
    case done(Link, Notice)
}
