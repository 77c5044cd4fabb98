import Foundation
import XCTest

@testable import Undertone

/// The cases of misuse and the day of a keyboard that every face goes through (tests/faces), by
/// their names there.
final class FacesTests: XCTestCase {
    static let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("tests/golden")
    private var folder = URL(fileURLWithPath: "")

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws { try FileManager.default.removeItem(at: folder) }

    private func pack(_ name: String = "golden-scores") throws -> Pack {
        try Pack(contentsOf: Self.golden.appendingPathComponent(name + ".pack"))
    }

    private func document() throws -> Document { try Document(try pack()) }

    private func grant(_ unit: PrivacyUnit = .sentence, _ whole: UInt32 = 1) throws -> Grant {
        try Grant.unrecorded(unit, Epsilon(micro: whole * 1_000_000))
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    private func load(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
    private func store(_ bytes: [UInt8], _ path: String) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

    private func spend(_ ledger: Ledger, _ whole: UInt32, _ window: UInt64) throws -> Grant {
        try ledger.spend(Epsilon(micro: whole * 1_000_000), in: window)
    }

    /// Runs a case, which must not throw. Cases are printed: ffi/swift/test.sh compares them with
    /// the lists.
    private func run(_ name: String, _ body: () throws -> Void) {
        XCTAssertNoThrow(try body(), name)
        print("case \(name)")
    }

    /// Runs a call that must be refused.
    private func refused<T>(_ error: UndertoneError, _ name: String, _ body: () throws -> T) {
        XCTAssertThrowsError(try body(), name) { XCTAssertEqual($0 as? UndertoneError, error, name) }
        print("case \(name)")
    }

    private func refused<T>(_ status: String, _ name: String, _ body: () throws -> T) {
        refused(.refused(Self.statuses[status]!), name, body)
    }

    /// The numbers of the header.
    private static let statuses: [String: Int32] = {
        let header = golden.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("include/undertone.h")
        var found: [String: Int32] = [:]
        for line in try! String(contentsOf: header, encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count == 3, words[0] == "#define", words[1].hasPrefix("UNDERTONE_STATUS_") else { continue }
            found[String(words[1].dropFirst("UNDERTONE_STATUS_".count))] = Int32(words[2])
        }
        return found
    }()

    func testMisuseOfPacks() throws {
        let bytes = try load(Self.golden.appendingPathComponent("golden-scores.pack").path)
        refused("PACK_TOO_SHORT", "short_pack") { try Pack([UInt8]()) }
        refused("NOT_A_PACK", "foreign_pack") { try Pack([UInt8](repeating: 0, count: 1000)) }
        refused("PACK_WRONG_LENGTH", "cut_pack") { try Pack(bytes.dropLast()) }
        refused("PACK_DAMAGED", "damaged_pack") { try Pack(bytes.dropLast() + [bytes.last! ^ 1]) }
        refused("NO_CANDIDATES", "pack_without_candidates") { try Document(try pack("golden-vectors")) }
        run("pack_closed_first") {
            let document = try Document(Pack(bytes))
            try document.push(sentence: "The pack is gone.")
            _ = try document.release(grant())
        }
    }

    func testMisuseOfForms() throws {
        let bytes = try load(Self.golden.appendingPathComponent("golden.form").path)
        let scores = try load(Self.golden.appendingPathComponent("golden-scores.pack").path)
        refused("NOT_A_FORM", "foreign_form") { try Form(scores) }
        refused("FORM_DAMAGED", "damaged_form") { try Form(bytes.dropLast() + [bytes.last! ^ 1]) }
        let form = try Form(bytes)
        let grant = try grant(.wholeText)
        for answers: [UInt32] in [[0, 0], [0, 0, 0, 0]] {
            refused("WRONG_ANSWER_COUNT", "wrong_answer_count") { try form.release(answers, grant) }
        }
        run("answers_out_of_range") { _ = try form.release([4, 2600, Form.noAnswer], grant) }
        refused("NO_SUCH_CATEGORY", "no_such_category") { try form.attributeName(3) }
        refused("NO_SUCH_CATEGORY", "no_such_category") { try form.categoryName(0, 4) }
        let document = try Document(try pack("golden-scores"))
        refused("FORM_OTHER_PACK", "topic_of_another_pack") {
            var answers: [UInt32] = [0, 0, 0]
            try form.answerTopic(document, &answers)
        }
        let lines = try Reservoir(document, slot: 7, places: 1).bytes
        refused("RESERVOIR_OTHER_PACK", "lines_as_answers") { try AnswerReservoir(reading: lines, for: form) }
    }

    func testAnswersAreReleased() throws {
        let form = try Form(contentsOf: Self.golden.appendingPathComponent("golden.form"))
        let ledger = try Ledger(openingOrCreating: path("answers"), for: .wholeText, budgetMicro: 3_000_000)
        let release = try form.release([1, Form.noAnswer, 0], spend(ledger, 3, 0))
        XCTAssertEqual(release.unit, .wholeText)
        XCTAssertTrue(release.order > 0 && release.candidate >> 24 < 4)
        XCTAssertThrowsError(try spend(ledger, 1, 0)) {
            XCTAssertEqual($0 as? UndertoneError, .refused(Self.statuses["LEDGER_EXHAUSTED"]!))
        }
        XCTAssertThrowsError(try form.release([0, 0, 0], grant(.sentence))) {
            XCTAssertEqual($0 as? UndertoneError, .refused(Self.statuses["GRANT_WRONG_UNIT"]!))
        }
    }

    func testATextAnswersTheTopic() throws {
        let form = try Form(contentsOf: Self.golden.appendingPathComponent("golden-topic.form"))
        let document = try Document(try pack("golden-scores"))
        for (text, best) in [("the garden dog", UInt32(124)), ("qqq", 200)] {
            var answers: [UInt32] = [1, 0]
            try document.push(text: text)
            try form.answerTopic(document, &answers)
            XCTAssertEqual(answers, [1, best])
            XCTAssertEqual(document.sentenceCount, 0)
        }
    }

    func testMisuseOfDocuments() throws {
        let document = try document()
        run("empty_text") {
            XCTAssertEqual(try document.push(text: ""), 0)
            try document.push(sentence: "")
            XCTAssertEqual(document.sentenceCount, 1)
        }
        run("long_text") { try document.push(sentence: String(repeating: "x", count: 1 << 20)) }
        var odd = [Float](repeating: 0.5, count: 16)
        odd[3] = .nan
        odd[4] = .infinity
        odd[5] = -.infinity
        run("embedding_of_nan") { try document.push(embedding: odd) }
        refused("WRONG_DIMENSION", "short_embedding") { try document.push(embedding: Array(odd.dropLast())) }
        refused("NEEDS_TEXT", "embedding_without_text") { try Document(try pack("golden-features")).push(embedding: odd) }
        try document.reset()
        for _ in 0..<128 { try document.push(sentence: "Another one.") }
        refused("DOCUMENT_FULL", "full_document") { try document.push(sentence: "One more.") }
        try document.reset()
        run("release_of_nothing") { _ = try document.release(grant()) }
        run("release_twice") {
            try document.push(sentence: "Once.")
            for _ in 0..<2 { _ = try document.release(grant()) }
        }
        refused("NO_SCORES", "whole_text_without_scores") {
            try Document(try pack("golden")).releaseWholeText(grant(.wholeText))
        }
        let reservoir = try Reservoir(document, slot: 7, places: 1)
        var flipped = reservoir.bytes
        flipped[63] ^= 1
        refused("RESERVOIR_DAMAGED", "damaged_reservoir") { try Reservoir(reading: flipped, for: document) }
        refused("RESERVOIR_OTHER_PACK", "reservoir_of_another_pack") {
            try reservoir.push(Document(try pack("golden-vote")))
        }
        let once = try grant()
        _ = try document.release(once)
        refused("GRANT_SPENT", "used_grant") { try document.release(once) }
        let other = try grant(.wholeText)
        refused("GRANT_WRONG_UNIT", "grant_of_another_unit") { try document.release(other) }
        run("grant_kept_after_wrong_unit") { _ = try document.releaseWholeText(other) }

        let release = try document.release(grant()).bytes
        refused("RELEASE_WRONG_LENGTH", "short_release") { try Release(release.dropLast()) }
        refused("NOT_A_RELEASE", "foreign_release") { try Release([UInt8](repeating: 0, count: 24)) }
        var forged = release
        forged[4] = 99
        refused("RELEASE_MALFORMED", "forged_release") { try Release(forged) }

        let why = UndertoneError.refused(Self.statuses["GRANT_SPENT"]!).description
        XCTAssertTrue(why.contains("grant") && !UndertoneError.system(ENOENT).description.isEmpty, why)

        document.close()
        refused(.closed, "document_after_close") { try document.push(sentence: "Nowhere.") }
        refused(.closed, "document_after_close") { try document.release(grant()) }
        run("close_twice") { document.close() }

        for text in ["much", "nan"] { refused("EPSILON_NOT_A_NUMBER", "epsilon_not_a_number") { try Epsilon(text) } }
        refused("EPSILON_TOO_SMALL", "epsilon_zero") { try grant(.sentence, 0) }
        refused("EPSILON_TOO_LARGE", "epsilon_too_large") { try Epsilon("1000.000001") }
        refused("EPSILON_TOO_LARGE", "epsilon_too_large") {
            try Grant.unrecorded(.sentence, Epsilon(micro: 1_000_000_001))
        }
    }

    func testMisuseOfLedgers() throws {
        let path = path("misuse")
        refused(.system(ENOENT), "missing_ledger") { try Ledger(opening: path, for: .sentence) }
        refused("LEDGER_NO_BUDGET", "ledger_without_budget") {
            try Ledger(openingOrCreating: path, for: .sentence, budgetMicro: 0)
        }
        let ledger = try Ledger(openingOrCreating: path, for: .sentence, budgetMicro: 10_000_000)
        refused("LEDGER_IN_USE", "ledger_in_use") { try Ledger(opening: path, for: .sentence) }
        _ = try spend(ledger, 7, 20000)
        refused("LEDGER_EXHAUSTED", "over_budget") { try spend(ledger, 4, 20000) }
        _ = try spend(ledger, 1, 20001)
        refused("LEDGER_FROM_FUTURE", "clock_set_back") { try spend(ledger, 1, 20000) }
        ledger.close()
        ledger.close()
        refused(.closed, "ledger_after_close") { try spend(ledger, 1, 20001) }
        refused("LEDGER_WRONG_UNIT", "ledger_of_another_unit") { try Ledger(opening: path, for: .wholeText) }
        let whole = try load(path)
        try store(whole.dropLast(), path)
        refused("LEDGER_WRONG_LENGTH", "short_ledger") { try Ledger(opening: path, for: .sentence) }
        try store([UInt8](repeating: 0, count: whole.count), path)
        refused("NOT_A_LEDGER", "foreign_ledger") { try Ledger(opening: path, for: .sentence) }
        var damaged = whole
        damaged[30] ^= 1
        damaged[100] ^= 1
        try store(damaged, path)
        refused("LEDGER_DAMAGED", "damaged_ledger") { try Ledger(opening: path, for: .sentence) }

        let words = try Ledger(openingOrCreating: self.path("words"), for: .word, budgetMicro: 10_000_000)
        let one = Epsilon(micro: 1_000_000)
        for count: UInt32 in [0, 257] {
            refused("WORD_COUNT_OUT_OF_RANGE", "words_out_of_range") { try words.spend(one, in: 20000, words: count) }
        }
        let bag = try Bag(Vocabulary(try pack()))
        let single = try words.spend(one, in: 20000)
        refused("GRANT_TOO_FEW_WORDS", "bag_of_more_words") { try bag.release(single, words: 2) }
        XCTAssertEqual(try bag.release(single, words: 1).words.count, 1)
        let mechanism = try VectorMechanism(dimension: 4, epsilon: one)
        let vector: [Float] = [0, 0, 0, 0]
        refused("GRANT_WRONG_EPSILON", "grant_of_another_epsilon") { try mechanism.release(grant(.vector, 2), vector) }
        XCTAssertEqual(try mechanism.release(grant(.vector), vector).values.count, 4)

        final class Counted: Counter {
            var value: UInt64 = 0
            func read() throws -> UInt64 { value }
            func raise(to: UInt64) throws { value = to }
        }
        let counter = Counted()
        let counted = self.path("counted")
        let file = try Ledger(openingOrCreating: counted, for: .sentence, budgetMicro: 10_000_000, counter: counter)
        let older = try load(counted)
        for _ in 0..<2 { _ = try spend(file, 1, 20000) }
        file.close()
        try store(older, counted)
        refused("LEDGER_SET_BACK", "set_back_ledger") { try Ledger(opening: counted, for: .sentence, counter: counter) }
    }

    func testCountersUseNoLedgerThatAsksThem() throws {
        final class Reentrant: Counter {
            var ledger: Ledger?
            var refusals: [Error] = []
            var closes = false
            private var value: UInt64 = 0
            func read() throws -> UInt64 { value }
            func raise(to: UInt64) throws {
                do { _ = try ledger?.spend(Epsilon(micro: 1_000_000), in: 20000) } catch { refusals.append(error) }
                do { _ = try ledger?.remaining(in: 20000) } catch { refusals.append(error) }
                if closes { ledger?.close() }
                value = to
            }
        }
        let counter = Reentrant()
        let path = path("reentrant")
        let ledger = try Ledger(openingOrCreating: path, for: .sentence, budgetMicro: 10_000_000, counter: counter)
        counter.ledger = ledger
        print("case counter_uses_its_ledger")
        for left: UInt64 in [9_000_000, 8_000_000] {
            counter.refusals = []
            _ = try spend(ledger, 1, 20000)
            let busy = UndertoneError.refused(Self.statuses["BUSY"]!)
            XCTAssertEqual(counter.refusals.map { $0 as? UndertoneError }, [busy, busy])
            XCTAssertEqual(try ledger.remaining(in: 20000), left)
        }
        counter.closes = true
        _ = try spend(ledger, 1, 20000)
        XCTAssertThrowsError(try ledger.remaining(in: 20000)) { XCTAssertEqual($0 as? UndertoneError, .closed) }
        counter.ledger = nil
        let again = try Ledger(opening: path, for: .sentence, counter: counter)
        XCTAssertEqual(try again.remaining(in: 20000), 7_000_000)
    }

    func testCopiesOfTextsAreWiped() throws {
        for count in [0, 1, 5000] {
            let text = String(repeating: "é", count: count)
            // The system reads, because the memory is free by then.
            let memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/mem"))
            var after = [UInt8](repeating: 1, count: 2 * count)
            let place = withBytes(of: text) { bytes, length in
                XCTAssertTrue(UnsafeRawBufferPointer(start: bytes, count: length).elementsEqual(text.utf8))
                return Int(bitPattern: bytes)
            }
            let read = pread(memory.fileDescriptor, &after, after.count, off_t(place))
            XCTAssertEqual(read, after.count)
            XCTAssertFalse(String(decoding: after, as: UTF8.self).contains("éééé"))
        }
    }

    func testThreads() throws {
        let pack = try pack()
        let shared = try Document(pack)
        let failures = Failures()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            failures.catch("pack_from_many_threads") {
                for _ in 0..<25 {
                    let own = try Document(pack)
                    try own.push(sentence: "The choir sings.")
                    _ = try own.release(Grant.unrecorded(.sentence, Epsilon(micro: 1_000_000)))
                }
            }
        }
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            failures.catch("document_from_two_threads") {
                for _ in 0..<25 {
                    try shared.push(sentence: "The choir sings.")
                    _ = try shared.release(Grant.unrecorded(.sentence, Epsilon(micro: 1_000_000)))
                }
            }
        }
        let ledger = try Ledger(openingOrCreating: path("shared"), for: .sentence, budgetMicro: 10_000_000)
        let grants = Failures()
        let exhausted = UndertoneError.refused(Self.statuses["LEDGER_EXHAUSTED"]!)
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            failures.catch("ledger_from_two_threads") {
                for _ in 0..<25 {
                    do {
                        _ = try self.spend(ledger, 1, 20000)
                        grants.add("a grant")
                    } catch let refused as UndertoneError where refused == exhausted {}
                }
            }
        }
        XCTAssertEqual(grants.found.count, 10)
        XCTAssertEqual(failures.found, [])
    }

    func testErrorsNameNothingOfC() {
        // Pointers, handles and numbers of enums are the package's own work.
        for (name, status) in Self.statuses where status > 8 && !name.hasPrefix("UNKNOWN_") {
            let said = UndertoneError.refused(status).description
            XCTAssertFalse(said.contains("undertone_") || said.contains("UNDERTONE_"), said)
        }
    }

    func testSentencesAreFound() {
        XCTAssertEqual(sentences(of: "Dr. Wu paid 3.5 dollars. Why? 😀"), ["Dr. Wu paid 3.5 dollars.", "Why? 😀"])
        XCTAssertEqual(sentences(of: ""), [])
        let typed = finishedSentences(of: "Dr. Wu paid. Why? He sa")
        XCTAssertEqual(typed.sentences, ["Dr. Wu paid.", "Why?"])
        XCTAssertEqual(typed.rest, " He sa")
        XCTAssertEqual(finishedSentences(of: "").rest, "")
    }

    func testPacksSayWhatTheyAre() throws {
        let scores = try pack()
        XCTAssertEqual(scores.selector, .scores)
        XCTAssertTrue(scores.largestScore > 0 && scores.levelCount > 1 && scores.directionCount == 0)
        XCTAssertTrue(scores.nothingKnown == UInt32(scores.candidateCount) && scores.wordCount > 0)
        XCTAssertEqual(scores.encoderName, "golden")
        XCTAssertEqual(scores.encoderDigest.count, 32)
        let depth = try pack("golden")
        XCTAssertTrue(depth.selector == .depth && depth.directionCount > 0 && depth.levelCount == 0)
        let vectors = try pack("golden-vectors")
        XCTAssertTrue(vectors.selector == nil && vectors.projectedDimension > 0)
        XCTAssertTrue(try pack("golden-features").featureCount > 0)
    }

    func testDocumentsTakeAllThatPacksRead() throws {
        let document = try document()
        let embedding = try pack().embed(sentence: "The clinic called.")
        try document.push(embedding: embedding)
        XCTAssertEqual(try document.push(embeddings: embedding + embedding), 2)
        XCTAssertEqual(document.sentenceCount, 3)
        let features = try Document(try pack("golden-features"))
        try features.push(sentence: "The clinic called.", embedding: Array(repeating: 0.5, count: try pack("golden-features").dimension))
        XCTAssertEqual(features.sentenceCount, 1)
        let promise = try document.promise(.wholeText, Epsilon("3"))
        XCTAssertEqual(promise.wholeTextMicro, 3_000_000)
        XCTAssertTrue(try document.promise(.sentence, Epsilon("3")).wholeTextMicro > 3_000_000)
        XCTAssertEqual(try document.releaseWholeText(grant(.wholeText)).unit, .wholeText)
        XCTAssertNotEqual(try document.releaseProjective(grant(.wholeText)).order, 0)
        let vocabulary = try Vocabulary(try pack("golden"))
        XCTAssertTrue(vocabulary.fallback < vocabulary.wordCount && vocabulary.unitExponent < 0)
        let bag = try Bag(vocabulary)
        try bag.push(word: "clinic")
        try bag.reset()
        bag.close()
        XCTAssertThrowsError(try bag.push(word: "clinic")) { XCTAssertEqual($0 as? UndertoneError, .closed) }
    }

    /// A device that releases once in 52 weeks, and starts again for each line.
    func testAYearHasOneRelease() throws {
        let schedule = Schedule(slots: 52, appointments: 1, epsilon: Epsilon(micro: 3_000_000))
        let document = try self.document()
        let ledger = try Ledger(openingOrCreating: path("year"), for: .wholeText, budgetMicro: 3_000_000)
        let appointed = try ledger.appointment(in: 2026, schedule)
        XCTAssertEqual(appointed.count, 1)
        var due: [UInt16] = []
        for week in UInt32(0)..<52 where try ledger.isDue(in: 2026, slot: week, schedule) {
            due.append(UInt16(week))
            let slot = UInt64(2026 * 52 + week)
            var stored = try Reservoir(document, slot: slot, places: 2).bytes
            for _ in 0..<5 {
                let reservoir = try Reservoir(reading: stored, for: document)
                try document.push(sentence: "The choir sings.")
                try reservoir.push(document)
                stored = reservoir.bytes
            }
            let reservoir = try Reservoir(reading: stored, for: document)
            XCTAssertEqual(reservoir.slot, slot)
            let paid = try ledger.spend(schedule.epsilon, in: 2026)
            XCTAssertEqual(try reservoir.release(document, by: .wholeText, paid).unit, .wholeText)
            XCTAssertTrue(reservoir.bytes.allSatisfy { $0 == 0 })
        }
        XCTAssertEqual(due, appointed)
        XCTAssertThrowsError(try ledger.isDue(in: 2026, slot: 52, schedule))
        ledger.close()
        let form = try Form(load(Self.golden.appendingPathComponent("golden.form").path))
        XCTAssertNotEqual(try form.categoryName(0, 1), try form.attributeName(0))
        var answers = try AnswerReservoir(form, slot: 9, places: 2)
        for _ in 0..<5 {
            answers = try AnswerReservoir(reading: answers.bytes, for: form)
            try answers.push([1, Form.noAnswer, 0])
        }
        XCTAssertEqual(answers.slot, 9)
        XCTAssertThrowsError(try answers.push([1]))
        XCTAssertEqual(try answers.release(grant(.wholeText)).unit, .wholeText)
        XCTAssertTrue(answers.bytes.allSatisfy { $0 == 0 })
        let drawn = try Reservoir(document, slot: 0, places: 3).release(document, by: .drawn, grant())
        XCTAssertEqual(drawn.unit, .sentence)
        XCTAssertEqual(drawn.order, 3)
    }

    func testDayOfAKeyboard() throws {
        let path = path("day")
        let document = try document()
        var ledger: Ledger!
        func step(_ name: String, _ body: () throws -> Void) { run(name, body) }
        func left(_ window: UInt64, _ micro: UInt64) { XCTAssertEqual(try ledger.remaining(in: window), micro) }
        func restore(_ bytes: [UInt8]) throws {
            ledger.close()
            try store(bytes, path)
            ledger = try Ledger(opening: path, for: .sentence)
        }
        func release(_ sentence: String, _ grant: Grant) throws {
            try document.push(sentence: sentence)
            _ = try document.release(grant)
        }

        step("new_ledger") {
            ledger = try Ledger(openingOrCreating: path, for: .sentence, budgetMicro: 10_000_000)
            XCTAssertEqual(try load(path).count, 128)
            left(20000, 10_000_000)
        }
        step("typed_text") {
            let typed = "My doctor wants to repeat the blood test. The clinic called about the swollen node."
            XCTAssertEqual(try document.push(text: typed), 2)
        }
        var first: Grant!
        step("first_spend") {
            first = try spend(ledger, 3, 20000)
            left(20000, 7_000_000)
        }
        step("first_release") {
            let drawn = try document.release(first)
            XCTAssertEqual(drawn.bytes.count, 24)
            XCTAssertEqual(drawn.epsilon.micro, 3_000_000)
            XCTAssertEqual(drawn.unit, .sentence)
            XCTAssertEqual(drawn.rule, .permuteAndFlip)
            XCTAssertEqual(drawn.order, 0)
            XCTAssertLessThan(drawn.candidate, 200)
            XCTAssertEqual(drawn.packID, [0x16, 0xf4, 0xb6, 0x45, 0x59, 0xf9, 0x09, 0x96])
            XCTAssertEqual(document.sentenceCount, 0)
        }
        step("second_release") {
            try release("We won the match.", spend(ledger, 4, 20000))
            left(20000, 3_000_000)
        }
        refused("LEDGER_EXHAUSTED", "refused_spend") { try spend(ledger, 4, 20000) }
        left(20000, 3_000_000)
        step("reopened") {
            ledger.close()
            ledger = try Ledger(opening: path, for: .sentence)
            left(20000, 3_000_000)
        }
        let before = try load(path)
        var after: [UInt8] = []
        step("killed_before") {
            _ = try spend(ledger, 1, 20000)
            left(20000, 2_000_000)
            after = try load(path)
            try restore(before)
            left(20000, 3_000_000)
        }
        step("killed_after") {
            try restore(after)
            left(20000, 2_000_000)
        }
        step("killed_in_between") {
            let record = before[..<64] == after[..<64] ? 64 : 0
            var torn = before
            torn.replaceSubrange(record..<(record + 40), with: after[record..<(record + 40)])
            try restore(torn)
            left(20000, 0)
        }
        refused("LEDGER_RECORD_LOST", "lost_record") { try spend(ledger, 1, 20000) }
        left(20000, 0)
        refused("LEDGER_EXHAUSTED", "rest_of_the_window") { try spend(ledger, 1, 20000) }
        left(20000, 0)
        step("next_window") {
            try release("The rehearsal is at seven.", spend(ledger, 3, 20001))
            left(20001, 7_000_000)
        }
        refused("LEDGER_FROM_FUTURE", "clock_back") { try spend(ledger, 1, 20000) }
        left(20001, 7_000_000)
        ledger.close()
        try store([], path)
        refused("LEDGER_WRONG_LENGTH", "emptied") { try Ledger(opening: path, for: .sentence) }
        step("recreated") {
            ledger = try Ledger.recreateSpent(path, for: .sentence, budgetMicro: 10_000_000, window: 20001)
            left(20001, 0)
            left(20002, 10_000_000)
        }
        refused("LEDGER_EXHAUSTED", "refused_anew") { try spend(ledger, 1, 20001) }
        step("new_day") {
            try release("Good morning.", spend(ledger, 3, 20002))
            left(20002, 7_000_000)
        }
    }
}

/// Failures in threads.
private final class Failures: @unchecked Sendable {
    private let lock = NSLock()
    private(set) var found: [String] = []

    func `catch`(_ name: String, _ body: () throws -> Void) {
        do {
            try body()
            print("case \(name)")
        } catch {
            add("\(name): \(error)")
        }
    }

    func add(_ one: String) {
        lock.lock()
        found.append(one)
        lock.unlock()
    }
}
