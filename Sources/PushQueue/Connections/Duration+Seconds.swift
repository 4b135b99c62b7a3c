import CarillonIO

extension Duration {
    var inSeconds: Double { Double(nanoseconds) / 1e9 }
}
