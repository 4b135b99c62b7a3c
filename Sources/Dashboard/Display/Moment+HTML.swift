import CarillonSchema
import CarillonWeb

extension Moment {
    /// In UTC; the script of the pages turns it into the viewer's zone.
    var html: HTML { HTML(.time, Attribute(.datetime, text), Attribute(.title, text)) { readable } }
}
