import CarillonTLS

/// Checks one password at a time: each check takes 8 MB.
actor LoginTurn {
    func matches(_ password: DerivedPassword?, _ candidate: String) -> Bool { password?.matches(candidate) ?? false }
}
