// undertone for C++17: classes over undertone.h, which documents the promise of each function.
//
//     using namespace undertone;
//     Result<Pack> pack = Pack::open("demo.pack");
//     if (!pack) return fail(pack.status().message()); // and so on for each
//     Result<Document> document = Document::create(*pack);
//     Result<LedgerFile> ledger = // epsilon 6 a day
//         LedgerFile::open_or_create("budget.ledger", Unit::whole_text, 6000000);
//     Status pushed = document->push_sentence("The clinic called about the blood test.");
//     Result<Grant> grant = ledger->spend(Epsilon::from_micro(2000000), days_since_1970);
//     Result<Release> release = document->release_whole_text(*std::move(grant)); // 24 bytes
//
// Header-only: link libundertone, and on Windows bcrypt. Rules of every class:
//
// - Errors. A function that can fail returns a Status or a Result, which must not be ignored.
//   Nothing throws but std::vector and std::string without memory, and everything compiles without
//   exceptions and RTTI. Where exceptions are on, or_throw() turns a Status or a Result into a
//   value or an undertone::Error. Taking the value of a failed Result is a bug: the program prints
//   the reason on standard error and ends (std::abort).
// - Handles are move-only. One that was moved from, or default-made, has capi() == nullptr, and its
//   functions return STATUS_MOVED. Its memory stays at its address when the object moves, and
//   private data in it is wiped before it is freed.
// - Macros. The headers compile after any platform header. Xlib.h makes Status a macro: after it,
//   write auto or #undef Status where you would name undertone::Status.
// - Threads. const functions may run at the same time on one object; all others need it for
//   themselves.
// - Text is UTF-8 in a std::string_view; bytes are a pointer and a length, or a std::vector.
//
// The folder undertone/ has a header for each class, such as "undertone/document.hpp", which can
// be included alone.

#ifndef UNDERTONE_HPP
#define UNDERTONE_HPP

#include "undertone/document.hpp"
#include "undertone/entropy.hpp"
#include "undertone/epsilon.hpp"
#include "undertone/form.hpp"
#include "undertone/grant.hpp"
#include "undertone/handle.hpp"
#include "undertone/ledger.hpp"
#include "undertone/ledger_file.hpp"
#include "undertone/pack.hpp"
#include "undertone/release.hpp"
#include "undertone/reservoir.hpp"
#include "undertone/sentence.hpp"
#include "undertone/status.hpp"
#include "undertone/vector.hpp"
#include "undertone/words.hpp"

#endif // UNDERTONE_HPP
