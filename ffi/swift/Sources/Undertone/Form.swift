import CUndertone
import Foundation

/// A form: a public file of attributes, each with categories, for answers that the app has. It
/// holds nothing private.
public final class Form: Sendable {
    /// An answer that is no category of any attribute.
    public static let noAnswer = UInt32.max

    let handle: Handle

    /// Checks a form, and keeps a copy of its bytes.
    public init(_ bytes: some Collection<UInt8>) throws {
        let bytes = Bytes(bytes)
        handle = try Handle(size: UNDERTONE_FORM_HANDLE_SIZE, bytes: bytes) { memory, size, out in
            undertone_form_init(memory, size, bytes.buffer.baseAddress, bytes.buffer.count, out)
        }
    }

    /// Reads a file.
    public convenience init(contentsOf file: URL) throws { try self.init(Data(contentsOf: file)) }

    /// The name of an attribute, by its index from 0.
    public func attributeName(_ attribute: UInt32) throws -> String {
        try handle.use { form in try foundText { undertone_form_attribute_name(form, attribute, $0, $1) } }
    }

    /// The name of a category, by its index in its attribute, from 0.
    public func categoryName(_ attribute: UInt32, _ category: UInt32) throws -> String {
        try handle.use { form in try foundText { undertone_form_category_name(form, attribute, category, $0, $1) } }
    }

    /// Writes what a text is about as the answer to the topic of the form: the attribute whose
    /// categories are the candidates of the document's pack. Removes the sentences from the
    /// document. The answer is as private as the text; `release` protects the text together with all
    /// other answers. `answers`: as for `release`. If it fails, answers and document are unchanged.
    public func answerTopic(_ document: Document, _ answers: inout [UInt32]) throws {
        try handle.use { form in
            try document.handle.use {
                try check(undertone_form_answer_topic(form, $0, &answers, answers.count))
            }
        }
    }

    /// Releases the answer to one question of the form, which is drawn without looking at any
    /// answer.
    ///
    /// Any two lists of answers give every release with probabilities within a factor of e^epsilon
    /// of each other, so epsilon is for all answers of the form together. The grant is for
    /// `.wholeText`. `answers`: for each attribute the number of a category, from 0. Any other
    /// number is no answer, such as `noAnswer`; no error depends on an answer.
    public func release(_ answers: [UInt32], _ grant: Grant) throws -> Release {
        try handle.draw(grant) { undertone_form_release($0, answers, answers.count, $1, entropy, nil, $2, $3, $4) }
    }
}
