import Glibc

enum TextStyle: Int {
    case bold = 1
    case dim = 2
    case red = 31
    case green = 32
    case yellow = 33
}
