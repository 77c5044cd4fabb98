// swift-tools-version:5.9
import PackageDescription

// On Apple's systems the library is the xcframework beside this file, where ffi/build-targets.sh
// puts it. On Linux it is installed, by ffi/install.sh, and found by pkg-config. Either brings the
// module CUndertone.
#if os(Linux)
let library = Target.systemLibrary(name: "Installed", pkgConfig: "undertone")
#else
let library = Target.binaryTarget(name: "CUndertone", path: "undertone.xcframework")
#endif

let package = Package(
    name: "Undertone",
    platforms: [.iOS(.v13)],
    products: [.library(name: "Undertone", targets: ["Undertone"])],
    targets: [
        library,
        .target(name: "Undertone", dependencies: [.target(name: library.name)]),
        .testTarget(name: "UndertoneTests", dependencies: ["Undertone"]),
    ]
)
