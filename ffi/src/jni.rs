//! The native methods of the class `Native` in `ffi/java`. Each calls the function of the C
//! interface that it is named after, and returns its status.
//!
//! Nothing is allocated. A handle lives in a direct buffer, which does not move and lives as long
//! as the Java object that holds it. The Java classes guarantee that no argument is null, that one
//! thread at a time uses a handle, and that a pack outlives its documents. Only a ledger calls
//! back: Java reads and writes its file.

#![expect(non_snake_case, reason = "the names are those of Java")]

mod vm;

use core::ffi::c_char;
use core::ptr;

use jni_sys::{JNIEnv, jclass, jint, jlong};

use crate::*;
use vm::{
    Answer, Argument, Budget, Buffer, Bytes, Epsilon, Floats, Handle, Held, Ints, Memory,
    Reference, Secret, Storage, Vm, Window, Written, give_secret,
};

/// Exports native methods. An argument of type [`Held`] is read through the handle beside it.
macro_rules! native {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $answer:ty $body:block)*) => {$(
        $(#[$doc])*
        #[unsafe(export_name = concat!("Java_dev_undertone_Native_", stringify!($name)))]
        extern "system" fn $name(
            env: *mut JNIEnv,
            _: jclass,
            $($argument: <$type as Argument>::Java),*
        ) -> <$answer as Answer>::Java {
            // SAFETY: the virtual machine calls this function with its environment.
            let vm = unsafe { Vm::new(env) };
            $(let $argument = <$type as Argument>::read(vm, $argument);)*
            // SAFETY: the functions of C refuse a handle that no init method made. The memory of
            // arguments has the length that they report, and is valid until this function returns:
            // the Java classes hold the objects that a call reads, and the monitors of those it
            // changes. Outputs are local variables, or buffers and arrays of the caller in Java.
            // `give_secret` and the functions of a `Storage` get the contexts that they require.
            #[allow(unused_unsafe, reason = "some functions of C are safe")]
            let answer: $answer = unsafe { $body };
            answer.into_java(vm)
        }
    )*};
}

/// Exports methods that return a number of a handle.
macro_rules! getters {
    ($handle:ty { $($name:ident = $function:ident -> $answer:ty;)* }) => {
        native! {$(
            fn $name(handle: Handle<$handle>, _held: Held) -> $answer { $function(handle.0) }
        )*}
    };
}

getters! { UndertoneVectorMechanism {
    vectorMechanismDimension = undertone_vector_mechanism_dimension -> u32;
    vectorMechanismReleaseLength = undertone_vector_mechanism_release_len -> usize;
} }

getters! { UndertoneVocabulary {
    vocabularyWordCount = undertone_vocabulary_word_count -> u32;
} }

/// Start of a text in the bytes of a file, and its length.
fn range_in(file: &Buffer<u8>, text: *const c_char, len: usize) -> [jlong; 2] {
    let offset = text.addr().wrapping_sub(file.start.addr());
    [offset as jlong, len as jlong]
}

native! {
    fn abiVersion() -> u32 {
        undertone_abi_version()
    }

    fn version() -> *const c_char {
        undertone_version()
    }

    fn backend() -> *const c_char {
        undertone_backend()
    }

    fn statusMessage(status: jint) -> *const c_char {
        undertone_status_message(status)
    }

    /// Returns the epsilon in micro-units, or a negated status.
    fn epsilonParse(text: Bytes) -> Written {
        Written::by(|micro| undertone_epsilon_parse(text.start(), text.len, micro))
    }

    fn packInit(memory: Memory, bytes: Buffer<u8>) -> i32 {
        memory.init(|start, len, out| {
            undertone_pack_init(start, len, bytes.start, bytes.len, out)
        })
    }

    fn packDescribe(
        pack: Handle<UndertonePack>, _held: Held, out: Buffer<UndertonePackDescription>
    ) -> i32 {
        undertone_pack_describe(pack.0, out.start)
    }

    /// Returns the number of floats written, or a negated status.
    fn packEmbedSentence(
        pack: Handle<UndertonePack>, _held: Held, text: Bytes, out: Buffer<f32>
    ) -> Written {
        Written::by(|written| {
            undertone_pack_embed_sentence(
                pack.0, text.start(), text.len, out.start, out.len, written,
            )
        })
    }

    /// Writes where the sentence starts and its length in bytes.
    fn sentenceNext(text: Bytes, start: usize, finished: bool, out_range: Reference) -> i32 {
        let next = if finished {
            undertone_sentence_next_finished
        } else {
            undertone_sentence_next
        };
        let (mut found, mut len) = (0, 0);
        let status = next(text.start(), text.len, start, &raw mut found, &raw mut len);
        out_range.fill_longs(status, [found as jlong, len as jlong])
    }

    fn grantInitUnrecorded(memory: Memory, unit: jint, epsilon: Epsilon) -> i32 {
        memory.init(|start, len, out| {
            undertone_grant_init_unrecorded(start, len, unit, epsilon.0, out)
        })
    }

    fn ledgerCreateImage(unit: jint, budget: Budget, secret: Secret, out_image: Reference) -> i32 {
        out_image.fill_buffer::<UNDERTONE_LEDGER_IMAGE_BYTES>(|image, len, written| {
            undertone_ledger_create_image(
                unit, budget.0, Some(give_secret), secret.context(), image, len, written,
            )
        })
    }

    fn ledgerSpend(
        storage: Reference, buffer: Reference, counted: bool, unit: jint, epsilon: Epsilon,
        words: u32, window: Window, secret: Secret, grant: Memory
    ) -> i32 {
        let Some(storage) = Storage::new(storage, buffer) else {
            return UNDERTONE_STATUS_INTERNAL;
        };
        let functions = storage.functions(counted);
        grant.init(|start, len, out| {
            undertone_ledger_spend(
                &raw const functions, unit, epsilon.0, words, window.0,
                Some(give_secret), secret.context(), start, len, out, ptr::null_mut(),
            )
        })
    }

    fn ledgerRemaining(
        image: Bytes, counter: Option<u64>, unit: jint, window: Window, out_micro: Reference
    ) -> i32 {
        let counter = counter.as_ref().map_or(ptr::null(), ptr::from_ref);
        let mut micro = 0;
        let status = undertone_ledger_remaining(
            unit, image.start(), image.len, window.0, counter, &raw mut micro,
        );
        out_micro.fill_longs(status, [long(micro)])
    }

    /// Returns the number of slots, or a negated status.
    fn ledgerAppointment(
        image: Bytes, window: Window, slots: u32, appointments: u32, out: Buffer<u16>
    ) -> Written {
        Written::by(|written| {
            undertone_ledger_appointment(
                image.start(), image.len, window.0, slots, appointments, out.start, out.len,
                written,
            )
        })
    }

    /// Returns 1 or 0, or a negated status.
    fn ledgerIsDue(
        image: Bytes, counter: Option<u64>, window: Window, slots: u32, appointments: u32,
        slot: u32, epsilon: Epsilon
    ) -> Written {
        let counter = counter.as_ref().map_or(ptr::null(), ptr::from_ref);
        Written::by::<i32>(|is_due| {
            undertone_ledger_is_due(
                image.start(), image.len, window.0, counter, slots, appointments, slot, epsilon.0,
                is_due,
            )
        })
    }

    fn ledgerRecreateSpent(
        storage: Reference, buffer: Reference, counted: bool, unit: jint, budget: Budget,
        window: Window, secret: Secret, out_image: Reference
    ) -> i32 {
        let Some(storage) = Storage::new(storage, buffer) else {
            return UNDERTONE_STATUS_INTERNAL;
        };
        let functions = storage.functions(counted);
        out_image.fill_buffer::<UNDERTONE_LEDGER_IMAGE_BYTES>(|image, len, written| {
            undertone_ledger_recreate_spent(
                &raw const functions, unit, budget.0, window.0, Some(give_secret), secret.context(),
                image, len, written,
            )
        })
    }

    fn documentInit(memory: Memory, pack: Handle<UndertonePack>, _held: Held) -> i32 {
        memory.init(|start, len, out| undertone_document_init(start, len, pack.0, out))
    }

    fn documentPush(document: Handle<UndertoneDocument>, embedding: Floats) -> i32 {
        undertone_document_push(document.0, embedding.start(), embedding.len)
    }

    /// Returns the number of sentences added, or a negated status.
    fn documentPushAll(document: Handle<UndertoneDocument>, embeddings: Floats) -> Written {
        let (start, len) = (embeddings.start(), embeddings.len);
        Written::by(|added| undertone_document_push_all(document.0, start, len, added))
    }

    fn documentPushEncoded(
        document: Handle<UndertoneDocument>, text: Bytes, embedding: Floats
    ) -> i32 {
        undertone_document_push_encoded(
            document.0, text.start(), text.len, embedding.start(), embedding.len,
        )
    }

    fn documentPushSentence(document: Handle<UndertoneDocument>, text: Bytes) -> i32 {
        undertone_document_push_sentence(document.0, text.start(), text.len)
    }

    /// Returns the number of sentences added, or a negated status.
    fn documentPushText(document: Handle<UndertoneDocument>, text: Bytes) -> Written {
        let (start, len) = (text.start(), text.len);
        Written::by(|added| undertone_document_push_text(document.0, start, len, added))
    }

    fn documentSentenceCount(document: Handle<UndertoneDocument>) -> usize {
        undertone_document_sentence_count(document.0)
    }

    fn documentReset(document: Handle<UndertoneDocument>) -> i32 {
        undertone_document_reset(document.0)
    }

    /// Writes the promise for one sentence and for the whole text.
    fn documentPromise(
        document: Handle<UndertoneDocument>, unit: jint, epsilon: Epsilon, out_micro: Reference
    ) -> i32 {
        let (mut sentence, mut whole_text) = (0, 0);
        let status = undertone_document_promise(
            document.0, unit, epsilon.0, &raw mut sentence, &raw mut whole_text,
        );
        out_micro.fill_longs(status, [long(sentence), long(whole_text)])
    }

    fn documentRelease(
        document: Handle<UndertoneDocument>, grant: Handle<UndertoneGrant>, rule: jint,
        secret: Secret, out: Reference
    ) -> i32 {
        out.fill_buffer::<UNDERTONE_RELEASE_BYTES>(|bytes, len, written| {
            undertone_document_release(
                document.0, grant.0, rule, Some(give_secret), secret.context(), bytes, len, written,
            )
        })
    }

    fn documentReleaseWholeText(
        document: Handle<UndertoneDocument>, grant: Handle<UndertoneGrant>, projective: bool,
        secret: Secret, out: Reference
    ) -> i32 {
        let release = if projective {
            undertone_document_release_projective
        } else {
            undertone_document_release_whole_text
        };
        let (give, context): (UndertoneEntropyFn, _) = (Some(give_secret), secret.context());
        out.fill_buffer::<UNDERTONE_RELEASE_BYTES>(|bytes, len, written| {
            release(document.0, grant.0, give, context, bytes, len, written)
        })
    }

    fn reservoirInit(
        document: Handle<UndertoneDocument>, slot: Window, places: u32, secret: Secret,
        out: Buffer<u8>
    ) -> i32 {
        let (give, context): (UndertoneEntropyFn, _) = (Some(give_secret), secret.context());
        undertone_reservoir_init(document.0, slot.0, places, give, context, out.start)
    }

    fn reservoirPush(
        reservoir: Buffer<u8>, document: Handle<UndertoneDocument>, secret: Secret
    ) -> i32 {
        let (give, context): (UndertoneEntropyFn, _) = (Some(give_secret), secret.context());
        undertone_reservoir_push(reservoir.start, document.0, give, context)
    }

    fn reservoirRead(
        bytes: Bytes, document: Handle<UndertoneDocument>, out_slot: Reference
    ) -> i32 {
        let mut slot = 0;
        let status = undertone_reservoir_read(
            bytes.start(), bytes.len, document.0, &raw mut slot, ptr::null_mut(),
        );
        out_slot.fill_longs(status, [slot.cast_signed()])
    }

    fn reservoirRelease(
        reservoir: Buffer<u8>, document: Handle<UndertoneDocument>, mechanism: jint,
        grant: Handle<UndertoneGrant>, secret: Secret, out: Reference
    ) -> i32 {
        let (give, context): (UndertoneEntropyFn, _) = (Some(give_secret), secret.context());
        out.fill_buffer::<UNDERTONE_RELEASE_BYTES>(|bytes, len, written| {
            let release = match mechanism {
                UNDERTONE_MECHANISM_WHOLE_TEXT => undertone_reservoir_release_whole_text,
                UNDERTONE_MECHANISM_PROJECTIVE => undertone_reservoir_release_projective,
                _ => undertone_reservoir_release_drawn,
            };
            release(reservoir.start, document.0, grant.0, give, context, bytes, len, written)
        })
    }

    fn formInit(memory: Memory, bytes: Buffer<u8>) -> i32 {
        memory.init(|start, len, out| {
            undertone_form_init(start, len, bytes.start, bytes.len, out)
        })
    }

    /// Writes where the name starts in the bytes of the form, and its length.
    fn formAttributeName(
        form: Handle<UndertoneForm>, bytes: Buffer<u8>, attribute: u32, out_range: Reference
    ) -> i32 {
        let (mut name, mut len) = (ptr::null(), 0);
        let status =
            undertone_form_attribute_name(form.0, attribute, &raw mut name, &raw mut len);
        out_range.fill_longs(status, range_in(&bytes, name, len))
    }

    fn formCategoryName(
        form: Handle<UndertoneForm>, bytes: Buffer<u8>, attribute: u32, category: u32,
        out_range: Reference
    ) -> i32 {
        let (mut name, mut len) = (ptr::null(), 0);
        let status = undertone_form_category_name(
            form.0, attribute, category, &raw mut name, &raw mut len,
        );
        out_range.fill_longs(status, range_in(&bytes, name, len))
    }

    fn formAnswerTopic(
        form: Handle<UndertoneForm>, _held: Held, document: Handle<UndertoneDocument>, answers: Ints
    ) -> i32 {
        answers.change(|start, len| {
            undertone_form_answer_topic(form.0, document.0, start.cast(), len)
        })
    }

    fn answerReservoirInit(
        form: Handle<UndertoneForm>, _held: Held, slot: Window, places: u32, secret: Secret,
        out: Buffer<u8>
    ) -> i32 {
        let (give, context): (UndertoneEntropyFn, _) = (Some(give_secret), secret.context());
        undertone_answer_reservoir_init(form.0, slot.0, places, give, context, out.start)
    }

    fn answerReservoirPush(
        reservoir: Buffer<u8>, form: Handle<UndertoneForm>, _held: Held, answers: Ints,
        secret: Secret
    ) -> i32 {
        undertone_answer_reservoir_push(
            reservoir.start, form.0, answers.start(), answers.len, Some(give_secret),
            secret.context(),
        )
    }

    fn answerReservoirRead(
        bytes: Bytes, form: Handle<UndertoneForm>, _held: Held, out_slot: Reference
    ) -> i32 {
        let mut slot = 0;
        let status = undertone_answer_reservoir_read(
            bytes.start(), bytes.len, form.0, &raw mut slot, ptr::null_mut(),
        );
        out_slot.fill_longs(status, [slot.cast_signed()])
    }

    fn answerReservoirRelease(
        reservoir: Buffer<u8>, form: Handle<UndertoneForm>, _held: Held,
        grant: Handle<UndertoneGrant>, secret: Secret, out: Reference
    ) -> i32 {
        let (give, context): (UndertoneEntropyFn, _) = (Some(give_secret), secret.context());
        out.fill_buffer::<UNDERTONE_RELEASE_BYTES>(|bytes, len, written| {
            undertone_answer_reservoir_release(
                reservoir.start, form.0, grant.0, give, context, bytes, len, written,
            )
        })
    }

    fn formRelease(
        form: Handle<UndertoneForm>, _held: Held, answers: Ints, grant: Handle<UndertoneGrant>,
        secret: Secret, out: Reference
    ) -> i32 {
        out.fill_buffer::<UNDERTONE_RELEASE_BYTES>(|bytes, len, written| {
            undertone_form_release(
                form.0, answers.start(), answers.len, grant.0, Some(give_secret),
                secret.context(), bytes, len, written,
            )
        })
    }

    /// Writes the candidate, the epsilon in micro-units, the rule, the unit and the order.
    fn releaseRead(bytes: Bytes, out_fields: Reference, out_pack_id: Reference) -> i32 {
        let (mut candidate, mut micro, mut rule, mut unit, mut order) = (0, 0, 0, 0, 0);
        let status = out_pack_id.fill::<UNDERTONE_PACK_ID_BYTES>(|id| {
            undertone_release_read(
                bytes.start(), bytes.len, &raw mut candidate, &raw mut micro, &raw mut rule,
                &raw mut unit, &raw mut order, id.as_mut_ptr(),
            )
        });
        let fields = [candidate.into(), micro.into(), rule.into(), unit.into(), order.into()];
        out_fields.fill_longs(status, fields)
    }

    fn vectorMechanismInit(
        memory: Memory, dimension: u32, bound_exponent: jint, noise: jint, epsilon: Epsilon
    ) -> i32 {
        memory.init(|start, len, out| {
            undertone_vector_mechanism_init(
                start, len, dimension, bound_exponent, noise, epsilon.0, out,
            )
        })
    }

    fn vectorMechanismInitProjected(
        memory: Memory, pack: Handle<UndertonePack>, _held: Held, noise: jint, epsilon: Epsilon
    ) -> i32 {
        memory.init(|start, len, out| {
            undertone_vector_mechanism_init_projected(start, len, pack.0, noise, epsilon.0, out)
        })
    }

    /// Returns the number of bytes written to a direct buffer, or a negated status.
    fn vectorMechanismRelease(
        mechanism: Handle<UndertoneVectorMechanism>, _held: Held, grant: Handle<UndertoneGrant>,
        vector: Floats, secret: Secret, out: Buffer<u8>
    ) -> Written {
        Written::by(|written| {
            undertone_vector_mechanism_release(
                mechanism.0, grant.0, vector.start(), vector.len, Some(give_secret),
                secret.context(), out.start, out.len, written,
            )
        })
    }

    /// Writes the dimension, the noise, the epsilon in micro-units and the exponent of the grid.
    fn vectorReleaseRead(bytes: Bytes, out_fields: Reference, out_pack_id: Reference) -> i32 {
        let (mut dimension, mut noise, mut micro, mut grid_exponent) = (0, 0, 0, 0);
        let status = out_pack_id.fill::<UNDERTONE_PACK_ID_BYTES>(|id| {
            undertone_vector_release_read(
                bytes.start(), bytes.len, &raw mut dimension, &raw mut noise, &raw mut micro,
                &raw mut grid_exponent, id.as_mut_ptr(),
            )
        });
        let fields = [dimension.into(), noise.into(), micro.into(), grid_exponent.into()];
        out_fields.fill_longs(status, fields)
    }

    /// Returns the number of steps written, or a negated status.
    fn vectorReleaseReadSteps(bytes: Bytes, out: Buffer<i32>) -> Written {
        let (start, len) = (bytes.start(), bytes.len);
        Written::by(|n| undertone_vector_release_read_steps(start, len, out.start, out.len, n))
    }

    /// Returns the number of values written, or a negated status.
    fn vectorReleaseReadValues(bytes: Bytes, out: Buffer<f64>) -> Written {
        let (start, len) = (bytes.start(), bytes.len);
        Written::by(|n| undertone_vector_release_read_values(start, len, out.start, out.len, n))
    }

    fn vocabularyInit(memory: Memory, pack: Handle<UndertonePack>, _held: Held) -> i32 {
        memory.init(|start, len, out| undertone_vocabulary_init(start, len, pack.0, out))
    }

    /// Writes the fallback word and the exponent of the step.
    fn vocabularyDescribe(
        vocabulary: Handle<UndertoneVocabulary>, _held: Held, out_numbers: Reference
    ) -> i32 {
        let (mut fallback, mut exponent) = (0, 0);
        let status =
            undertone_vocabulary_describe(vocabulary.0, &raw mut fallback, &raw mut exponent);
        out_numbers.fill_longs(status, [fallback.into(), exponent.into()])
    }

    /// Writes where the word starts in the bytes of the pack, and its length.
    fn vocabularyWord(
        vocabulary: Handle<UndertoneVocabulary>, pack: Buffer<u8>, word: u32, out_range: Reference
    ) -> i32 {
        let (mut text, mut len) = (ptr::null(), 0);
        let status = undertone_vocabulary_word(vocabulary.0, word, &raw mut text, &raw mut len);
        out_range.fill_longs(status, range_in(&pack, text, len))
    }

    fn bagInit(memory: Memory, vocabulary: Handle<UndertoneVocabulary>, _held: Held) -> i32 {
        memory.init(|start, len, out| undertone_bag_init(start, len, vocabulary.0, out))
    }

    /// Adds a word, or all words of a text.
    fn bagPush(bag: Handle<UndertoneBag>, text: Bytes, whole_text: bool) -> i32 {
        let push = if whole_text { undertone_bag_push_text } else { undertone_bag_push };
        push(bag.0, text.start(), text.len)
    }

    fn bagReset(bag: Handle<UndertoneBag>) -> i32 {
        undertone_bag_reset(bag.0)
    }

    fn bagReleaseLength(words: u32) -> usize {
        undertone_bag_release_len(words)
    }

    /// Returns the number of bytes written to a direct buffer, or a negated status.
    fn bagRelease(
        bag: Handle<UndertoneBag>, grant: Handle<UndertoneGrant>, words: u32, method: jint,
        secret: Secret, out: Buffer<u8>
    ) -> Written {
        Written::by(|written| {
            undertone_bag_release(
                bag.0, grant.0, words, method, Some(give_secret), secret.context(),
                out.start, out.len, written,
            )
        })
    }

    /// Writes the number of words, the method and the epsilon in micro-units.
    fn bagReleaseRead(bytes: Bytes, out_fields: Reference, out_pack_id: Reference) -> i32 {
        let (mut words, mut method, mut micro) = (0, 0, 0);
        let status = out_pack_id.fill::<UNDERTONE_PACK_ID_BYTES>(|id| {
            undertone_bag_release_read(
                bytes.start(), bytes.len, &raw mut words, &raw mut method, &raw mut micro,
                id.as_mut_ptr(),
            )
        });
        out_fields.fill_longs(status, [words.into(), method.into(), micro.into()])
    }

    /// Returns the number of words written, or a negated status.
    fn bagReleaseReadWords(bytes: Bytes, out: Buffer<u32>) -> Written {
        let (start, len) = (bytes.start(), bytes.len);
        Written::by(|n| undertone_bag_release_read_words(start, len, out.start, out.len, n))
    }
}

/// Micro-units for Java, which has no unsigned numbers.
fn long(micro: u64) -> jlong {
    micro.try_into().unwrap_or(jlong::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr::null_mut;
    use jni_sys::{JNI_ABORT, JNINativeInterface_, jarray, jboolean, jbyte, jsize};
    use std::cell::RefCell;
    use std::process;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::vec::Vec;

    /// An array of Java.
    struct Array {
        elements: Vec<u8>,
        copy: Vec<u8>,
        returned: Option<Vec<u8>>,
    }

    /// A function of the virtual machine that no call needs.
    extern "system" fn unexpected() {
        process::abort();
    }

    fn at<'a>(array: jarray) -> &'a RefCell<Array> {
        // SAFETY: the tests pass an `Array` as the array.
        unsafe { &*array.cast::<RefCell<Array>>() }
    }

    unsafe extern "system" fn no_exception(_: *mut JNIEnv) -> jboolean {
        false
    }

    unsafe extern "system" fn length(_: *mut JNIEnv, array: jarray) -> jsize {
        at(array).borrow().elements.len() as jsize
    }

    unsafe extern "system" fn lend(
        _: *mut JNIEnv,
        array: jarray,
        is_copy: *mut jboolean,
    ) -> *mut jbyte {
        let mut array = at(array).borrow_mut();
        array.copy = array.elements.clone();
        // SAFETY: the caller passes a variable of its own.
        unsafe { is_copy.write(true) };
        array.copy.as_mut_ptr().cast()
    }

    unsafe extern "system" fn take_back(
        _: *mut JNIEnv,
        array: jarray,
        start: *mut jbyte,
        mode: jint,
    ) {
        let mut array = at(array).borrow_mut();
        assert_eq!((start.cast(), mode), (array.copy.as_mut_ptr(), JNI_ABORT));
        array.returned = Some(array.copy.clone());
    }

    const WORDS: usize = size_of::<JNINativeInterface_>() / size_of::<usize>();

    /// The functions of a virtual machine: all unexpected, until a test sets some.
    fn functions() -> JNINativeInterface_ {
        let table = [unexpected as *const () as usize; WORDS];
        // SAFETY: the union is as large as the table, and has a function at each place.
        unsafe { core::mem::transmute(table) }
    }

    /// No critical section, which would stop the garbage collector, and no copy of a text left.
    #[test]
    fn texts_are_copied_and_the_copies_wiped() {
        let mut table = functions();
        table.v1_4.ExceptionCheck = no_exception;
        table.v1_4.GetArrayLength = length;
        table.v1_4.GetByteArrayElements = lend;
        table.v1_4.ReleaseByteArrayElements = take_back;
        let mut env: JNIEnv = &raw const table;
        let array = RefCell::new(Array {
            elements: b"0.5".to_vec(),
            copy: Vec::new(),
            returned: None,
        });
        let object = (&raw const array).cast_mut().cast();
        assert_eq!(epsilonParse(&raw mut env, null_mut(), object), 500_000);
        assert_eq!(array.borrow().elements, b"0.5");
        assert_eq!(array.borrow().returned.as_deref(), Some(&[0; 3][..]));

        array.borrow_mut().elements = b"A private sentence.".to_vec();
        // The missing document is refused, and the text wiped all the same.
        let status = documentPushText(&raw mut env, null_mut(), null_mut(), object);
        assert_eq!(status, -UNDERTONE_STATUS_NULL_POINTER);
        assert_eq!(array.borrow().returned.as_deref(), Some(&[0; 19][..]));
    }

    /// With an exception pending, here for want of memory, only arrays may be returned.
    #[test]
    fn nothing_is_called_while_an_exception_is_pending() {
        static THROWN: AtomicBool = AtomicBool::new(false);
        static CALLED: AtomicBool = AtomicBool::new(false);
        unsafe extern "system" fn exception(_: *mut JNIEnv) -> jboolean {
            THROWN.load(Ordering::Relaxed)
        }
        unsafe extern "system" fn length(_: *mut JNIEnv, _: jarray) -> jsize {
            CALLED.fetch_or(THROWN.load(Ordering::Relaxed), Ordering::Relaxed);
            3
        }
        unsafe extern "system" fn no_bytes(
            _: *mut JNIEnv,
            _: jarray,
            _: *mut jboolean,
        ) -> *mut jbyte {
            THROWN.store(true, Ordering::Relaxed); // OutOfMemoryError
            null_mut()
        }
        unsafe extern "system" fn no_floats(
            _: *mut JNIEnv,
            _: jarray,
            _: *mut jboolean,
        ) -> *mut f32 {
            CALLED.fetch_or(THROWN.load(Ordering::Relaxed), Ordering::Relaxed);
            null_mut()
        }
        let mut table = functions();
        table.v1_4.ExceptionCheck = exception;
        table.v1_4.GetArrayLength = length;
        table.v1_4.GetByteArrayElements = no_bytes;
        table.v1_4.GetFloatArrayElements = no_floats;
        let mut env: JNIEnv = &raw const table;
        let some = (&raw mut env).cast();
        let status = documentPushEncoded(&raw mut env, null_mut(), null_mut(), some, some);
        assert_ne!(status, UNDERTONE_STATUS_OK);
        assert!(
            !CALLED.load(Ordering::Relaxed),
            "called with an exception pending"
        );
    }
}
