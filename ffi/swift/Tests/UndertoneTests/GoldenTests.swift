import Foundation
import XCTest

@testable import Undertone

/// The golden vectors (tests/golden). The package takes no random bytes from a caller, so
/// `tests/faces/replay.c` answers in the place of the system; `ffi/swift/test.sh` preloads it.
final class GoldenTests: XCTestCase {
    private static let golden = FacesTests.golden

    private typealias Replay = @convention(c) (UnsafePointer<UInt8>, Int, Int) -> Int
    private static let replay: Replay? = dlsym(nil, "replay").map { unsafeBitCast($0, to: Replay.self) }

    /// The lines of a case, those that it has once also by their names.
    private struct Case {
        var lines: [(name: String, value: String)] = []
        var fields: [String: String] = [:]

        func text(_ name: String) throws -> String { try XCTUnwrap(fields[name], name) }
        func number<T: FixedWidthInteger>(_ name: String) throws -> T { try XCTUnwrap(T(text(name)), name) }
        func epsilon() throws -> Epsilon { Epsilon(micro: try number("epsilon_micro")) }
        func grant(_ unit: PrivacyUnit) throws -> Grant { try Grant.unrecorded(unit, epsilon()) }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)!
        }
    }

    /// Bytes that are no UTF-8 cannot be a String; U+FFFD separates words as they do.
    private func text(_ hex: String) -> String { String(decoding: bytes(hex), as: UTF8.self) }

    private func floats(_ hex: String) -> [Float] {
        let bytes = bytes(hex)
        return stride(from: 0, to: bytes.count, by: 4).map { start in
            Float(bitPattern: bytes[start..<(start + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    private func document(_ pack: Pack, _ test: Case) throws -> [UInt8] {
        let document = try Document(pack)
        for line in test.lines {
            switch line.name {
            case "embedding": try document.push(embedding: floats(line.value))
            case "sentence": try document.push(sentence: text(line.value))
            default: break
            }
        }
        let rule = try test.text("rule")
        let drawn: Release
        switch rule {
        case "projective": drawn = try document.releaseProjective(test.grant(.wholeText))
        case "whole-text": drawn = try document.releaseWholeText(test.grant(.wholeText))
        default: drawn = try document.release(test.grant(.sentence), rule: XCTUnwrap(Rule(rawValue: test.number("rule"))))
        }
        XCTAssertEqual(document.sentenceCount, 0)
        XCTAssertEqual(drawn.unit, Rule(rawValue: Int32(rule) ?? 0) == nil ? .wholeText : .sentence)
        XCTAssertEqual(drawn.order != 0, rule == "projective")
        XCTAssertEqual(drawn.epsilon, try test.epsilon())
        XCTAssertEqual(drawn.packID, pack.id)
        let nothing = rule == "whole-text" && drawn.candidate == UInt32(pack.candidateCount)
        XCTAssertEqual(drawn.isNothingKnown(pack), nothing)
        return drawn.bytes
    }

    private func bag(_ pack: Pack, _ test: Case) throws -> [UInt8] {
        let vocabulary = try Vocabulary(pack)
        let bag = try Bag(vocabulary)
        for line in test.lines {
            switch line.name {
            case "word": try bag.push(word: text(line.value))
            case "text": try bag.push(text: text(line.value))
            default: break
            }
        }
        let method = try XCTUnwrap(WordMethod(rawValue: test.number("mechanism")))
        let drawn = try bag.release(test.grant(.word), words: test.number("size"), method: method)
        XCTAssertEqual(drawn.words.count, try test.number("size"))
        XCTAssertEqual(drawn.method, method)
        XCTAssertEqual(try BagRelease(drawn.bytes), drawn)
        for word in drawn.words { XCTAssertFalse(try vocabulary.word(word).isEmpty) }
        return drawn.bytes
    }

    private func vector(_ pack: Pack, _ test: Case) throws -> [UInt8] {
        let values = floats(try test.text("vector"))
        let noise = try XCTUnwrap(Noise(rawValue: test.number("noise")))
        let mechanism =
            test.fields["bound_exponent"] == nil
            ? try VectorMechanism(projectedBy: pack, epsilon: test.epsilon(), noise: noise)
            : try VectorMechanism(
                dimension: UInt32(values.count), boundExponent: test.number("bound_exponent"), epsilon: test.epsilon(),
                noise: noise)
        XCTAssertEqual(mechanism.dimension, values.count)
        let drawn = try mechanism.release(test.grant(.vector), values)
        XCTAssertEqual(drawn.noise, noise)
        XCTAssertEqual(try VectorRelease(drawn.bytes), drawn)
        for (step, value) in zip(drawn.steps, drawn.values) {
            XCTAssertEqual(value, Double(sign: .plus, exponent: Int(drawn.gridExponent), significand: Double(step)))
        }
        return drawn.bytes
    }

    private func numbers(_ text: String) throws -> [UInt32] {
        try text.split(separator: " ").map { try XCTUnwrap(UInt32($0)) }
    }

    /// The answers of one line of a slot, stored and read after each.
    private func drawnAnswers(_ form: Form, _ test: Case) throws -> [UInt8] {
        var reservoir = try AnswerReservoir(form, slot: test.number("slot"), places: test.number("places"))
        for line in test.lines where line.name == "answers" {
            reservoir = try AnswerReservoir(reading: reservoir.bytes, for: form)
            try reservoir.push(numbers(line.value))
        }
        XCTAssertEqual(reservoir.bytes, bytes(try test.text("stored")))
        return try reservoir.release(test.grant(.wholeText)).bytes
    }

    private func answers(_ form: Form, _ test: Case) throws -> [UInt8] {
        let drawn = try form.release(numbers(test.text("answers")), test.grant(.wholeText))
        XCTAssertEqual(drawn.unit, .wholeText)
        XCTAssertEqual(drawn.epsilon, try test.epsilon())
        return drawn.bytes
    }

    /// Runs a case; one without a release has the vector of a sentence.
    private func run(_ pack: Pack, _ test: Case) throws {
        if test.fields["release"] == nil {
            XCTAssertEqual(try pack.embed(sentence: text(test.text("sentence"))), floats(try test.text("vector")))
        } else if test.fields["noise"] != nil {
            try agrees(test) { try vector(pack, test) }
        } else if test.fields["mechanism"] != nil {
            try agrees(test) { try bag(pack, test) }
        } else {
            try agrees(test) { try document(pack, test) }
        }
    }

    /// Checks that a release agrees with its case.
    private func agrees(_ test: Case, _ release: () throws -> [UInt8]) throws {
        let replay = try XCTUnwrap(Self.replay, "nothing answers in the place of the system: run ffi/swift/test.sh")
        // SystemRandomNumberGenerator draws eight bytes for one, and keeps the low one.
        let keys = test.lines.filter { $0.name == "entropy" }.flatMap { bytes($0.value) }
        let draws: [UInt8] = keys.flatMap { [$0] + [UInt8](repeating: 0, count: 7) }
        XCTAssertEqual(replay(draws, draws.count, 8), 0)
        let drawn = try release()
        XCTAssertEqual(replay([], 0, 0), 0, "bytes that were not drawn")
        XCTAssertEqual(drawn, bytes(try test.text("release")), test.fields["case"] ?? "")
    }

    private func runAll(_ file: String, _ run: (Case) throws -> Void) throws -> Int {
        var cases = 0
        var test = Case()
        for line in try String(contentsOf: Self.golden.appendingPathComponent(file), encoding: .ascii).components(separatedBy: "\n") {
            if line.isEmpty { test = Case() }
            if line.isEmpty || line.hasPrefix("#") { continue }
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            let value = parts.count > 1 ? parts[1] : ""
            test.lines.append((parts[0], value))
            test.fields[parts[0]] = value
            // The last line of a case. That of a sentence's vector has no name.
            if parts[0] == "release" || (parts[0] == "vector" && test.fields["case"] == nil) {
                try run(test)
                cases += 1
            }
        }
        return cases
    }

    func testGoldenVectors() throws {
        let list = try String(contentsOf: Self.golden.appendingPathComponent("list.txt"), encoding: .utf8)
        for line in list.split(separator: "\n") {
            let names = line.split(separator: " ").map(String.init)
            let (name, file) = (names[0], names[1])
            let pack = try Pack(contentsOf: Self.golden.appendingPathComponent(name))
            let cases = try runAll(file) { try run(pack, $0) }
            // test.sh compares it with the number in the file.
            print("\(file): \(cases) golden vectors agree")
        }
        let form = try Form(contentsOf: Self.golden.appendingPathComponent("golden.form"))
        for (file, draw) in [("answers.txt", answers), ("drawn-answers.txt", drawnAnswers)] {
            let cases = try runAll(file) { test in try agrees(test) { try draw(form, test) } }
            print("\(file): \(cases) golden vectors agree")
        }
    }
}
