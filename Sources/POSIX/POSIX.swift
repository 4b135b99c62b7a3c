// The C library under one name on every platform. Files that need it import this module, so the choice is made only here.

#if canImport(Darwin)
    @_exported import Darwin
#else
    @_exported import CarillonCLinux
    @_exported import Glibc
#endif
