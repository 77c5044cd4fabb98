import { staticText } from "./calls.js";

export { Document, Release, type Promised, type Rule } from "./document.js";
export { Form } from "./form.js";
export { Grant, type Unit } from "./grant.js";
export { Ledger, type Schedule } from "./ledger.js";
export { Pack } from "./pack.js";
export { AnswerReservoir, Reservoir, type LineMechanism } from "./reservoir.js";
export { finishedSentences, sentences } from "./sentences.js";
export { VectorMechanism, VectorRelease, type Noise, type VectorOptions } from "./vector.js";
export { type Code, UndertoneError } from "./errors.js";
export { type Handle } from "./handle.js";
export { Bag, BagRelease, Vocabulary, type WordMethod } from "./words.js";

/** The version of the library. */
export const version = () => staticText("undertone_version");
