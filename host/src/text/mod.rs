//! Sentences and words of a text, and the text of a message.

pub mod informative;

use std::collections::{BTreeMap, HashSet};
use std::io::BufReader;
use std::path::Path;

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::html::html_to_text;
use mail_parser::{MessageParser, MessagePart, MimeHeaders, PartType};
use undertone_core::lexicon::{Word, words};
use undertone_core::rng::{self, PublicRng};
use undertone_core::sentences;

use crate::error::{Error, Result};
use crate::files::foreign;
use crate::files::lines::Lines;

/// The longest line of a list of words, in bytes.
const LINE_LIMIT: usize = 1 << 16;

/// Splits `text` into trimmed sentences, in order, by the rules of
/// [`undertone_core::sentences`](mod@undertone_core::sentences), as on a device.
///
/// Pieces without a letter or digit (rulers, lone punctuation) are dropped, because their vectors
/// would mean nothing. Any string is accepted, and the result depends only on `text`.
///
/// # Leaks
/// Neighbours are lists of sentences: a character that merges or splits sentences changes several.
/// Time depends on the text.
///
/// # Shapes
/// `text`: any.
///
/// # Cost
/// Linear in the length of any text.
///
/// # Examples
/// ```
/// let text = "Dr. Smith paid 3.5 dollars. Then he left.";
/// assert_eq!(
///     undertone::text::sentences(text),
///     ["Dr. Smith paid 3.5 dollars.", "Then he left."]
/// );
/// ```
pub fn sentences(text: &str) -> Vec<&str> {
    each_sentence(text).collect()
}

/// Returns the offset at which the first `count` sentences of a text end: its length if it has no
/// more.
///
/// # Leaks
/// See [`sentences`](sentences()).
///
/// # Shapes
/// `text`: any.
///
/// # Cost
/// Linear in these sentences.
pub fn end_of_sentences(text: &str, count: usize) -> usize {
    let mut end = 0;
    for _ in 0..count {
        match sentences::next(text.as_bytes(), end) {
            Some(range) => end = range.end,
            None => return text.len(),
        }
    }
    end
}

/// [`sentences`](sentences()), split lazily.
pub(crate) fn each_sentence(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let range = sentences::next(text.as_bytes(), start)?;
        start = range.end;
        text.get(range)
    })
}

/// A public rule that decides for each word alone whether it counts.
#[derive(Clone, Debug)]
pub struct WordFilter {
    /// Words that do not count.
    pub stop: HashSet<Word>,
    /// If present, only these words count.
    pub keep: Option<HashSet<Word>>,
}

impl Default for WordFilter {
    /// All words but [`english_stop_words`].
    fn default() -> Self {
        Self {
            stop: english_stop_words(),
            keep: None,
        }
    }
}

impl WordFilter {
    /// Returns the words of `text` that count, in order and lower-cased.
    ///
    /// # Leaks
    /// The rule decides word by word, so changing one word changes one word of the result. Time
    /// depends on the text.
    ///
    /// # Shapes
    /// `text`: any.
    ///
    /// # Cost
    /// Linear in the text.
    ///
    /// # Examples
    /// ```
    /// let filter = undertone::text::WordFilter::default();
    /// let words: Vec<_> = filter.words("The soup wasn't salted.").collect();
    /// assert_eq!(words, ["soup", "salted"]);
    /// ```
    pub fn words(&self, text: &str) -> impl Iterator<Item = Word> {
        let kept = |word: &Word| self.keep.as_ref().is_none_or(|keep| keep.contains(word));
        words(text).filter(move |word| !self.stop.contains(word) && kept(word))
    }
}

/// English pronouns, prepositions, auxiliary verbs and the like, which reveal the writer more than
/// the topic: NLTK's list of 198 words.
pub fn english_stop_words() -> HashSet<Word> {
    let list = stop_words::get(stop_words::Language::English);
    list.iter().flat_map(|word| words(word)).collect()
}

/// Reads a list of words, one or more per line. A number after a tab is ignored.
///
/// # Errors
/// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
/// [`ErrorKind::Input`](crate::error::ErrorKind::Input) for a line that is not UTF-8 or longer than
/// 64 KiB, a line without a number after its tab if others have one, a file of more than three
/// lines of which nine in ten have a number in another place, or a file without a word.
pub fn read_word_list(path: &Path) -> Result<HashSet<Word>> {
    let shown = path.display();
    let fail = |problem| Error::input(format!("cannot use the words of `{shown}`: {problem}"));
    let file = foreign::open_text(path)?;
    let mut lines = Lines::new(BufReader::new(file), LINE_LIMIT);
    let mut list = HashSet::new();
    // The first line with a number after a tab, and with another column.
    let (mut counted, mut headed) = (None, None);
    // The first line with a number in each other place, and the number of these lines.
    let mut numbered = BTreeMap::new();
    let mut all = 0u64;
    loop {
        let number = lines.number() + 1;
        let line = match lines.next_line() {
            Ok(Some(line)) => line.trim(),
            Ok(None) => break,
            Err(problem) => return Err(fail(format!("line {number}: {problem}"))),
        };
        all += u64::from(!line.is_empty());
        if let Some((word, _)) = line.split_once('\t').filter(|(_, field)| is_number(field)) {
            counted = counted.or(Some(number));
            list.extend(words(word));
            continue;
        }
        if line.contains('\t') {
            headed = headed.or(Some(number));
        }
        if let Some(problem) = number_beside(line) {
            numbered.entry(problem).or_insert((number, 0)).1 += 1;
        }
        list.extend(words(line));
    }
    if let (Some(counted), Some(headed)) = (counted, headed) {
        return Err(fail(format!(
            "line {headed}: after the tab is no number, as on line {counted}; remove the line"
        )));
    }
    let mut numbered = numbered.into_iter();
    let usual = numbered.find(|(_, (_, count))| all > 3 && count * 10 >= all * 9);
    if let Some((problem, (number, _))) = usual {
        return Err(fail(format!("line {number}: {problem}")));
    }
    if list.is_empty() {
        return Err(fail("it has no words".into()));
    }
    Ok(list)
}

/// Whether a field of a list is a number or a share, perhaps in quotation marks.
fn is_number(field: &str) -> bool {
    let field = field.trim().trim_matches(['"', '\'', '%']);
    field.contains(|x: char| x.is_ascii_digit()) && field.parse::<f64>().is_ok()
}

/// Describes the fault of a line that has a number before its word, or after it without a tab.
pub(crate) fn number_beside(line: &str) -> Option<String> {
    let names = [
        (' ', "space"),
        ('\t', "tab"),
        (',', "comma"),
        (';', "semicolon"),
        ('|', "vertical bar"),
        (':', "colon"),
        ('=', "equals sign"),
    ];
    names.into_iter().find_map(|(separator, name)| {
        let fields = line.split(separator).map(str::trim);
        let fields: Vec<&str> = fields.filter(|field| !field.is_empty()).collect();
        // More words may share a line, and a number among them is no fault.
        if !(2..=4).contains(&fields.len()) {
            return None;
        }
        let place = match fields.iter().position(|field| is_number(field))? {
            0 => "before the word".to_owned(),
            _ => format!("after a {name}"),
        };
        Some(format!(
            "the number stands {place}; write a word, a tab and the number"
        ))
    })
}

/// Returns the author's own text of a mail or Usenet message: no header, no signature, no
/// quotations.
///
/// - The header is the text before the first empty line. Without one, a text is all header if it
///   has only fields, two of which only messages have, and otherwise has no header.
/// - If the header declares MIME, the text is taken from the decoded parts: the plain-text
///   alternative, the text of HTML, and no attachments. Character sets apply only to parts encoded
///   in ASCII, because the rest of `message` is Unicode already.
/// - The signature is the text after the last delimiter line `-- ` (RFC 3676, 4.3) or, without one,
///   after the last line of only blanks and dashes. A message is never all signature. In HTML only
///   the delimiter counts, before `<br>`.
/// - Quotations are lines that start with `>` or `|`, not in HTML, and lines that introduce them
///   ("… writes:", "In article …").
///
/// These are rules of thumb. They equal those of scikit-learn's 20 newsgroups data with
/// `remove=('headers', 'footers', 'quotes')`, except for the delimiter and for messages without an
/// empty line. A text that is not a message may lose its first and last paragraph.
///
/// # Leaks
/// Other forms of quotation stay, so the people who are quoted are not protected. A changed line
/// can add or remove others, so the protected unit of a private message is the sentence of the
/// result, not the line.
///
/// # Shapes
/// `message`: any text.
///
/// # Cost
/// Linear in the message.
///
/// # Examples
/// ```
/// let message = "From: a@b.c\nSubject: Re: soup\n\nAnn writes:\n> Salt?\nYes.\nMuch.\n\n-- \nBob\n";
/// assert_eq!(undertone::text::message_body(message), "Yes.\nMuch.");
/// ```
pub fn message_body(message: &str) -> String {
    body_of(message, 0)
}

/// [`message_body`] of a message within `depth` others.
fn body_of(message: &str, depth: usize) -> String {
    let is_bare = message.split('\r').next().is_some_and(is_known) && !message.contains('\n');
    let end = if is_bare { '\r' } else { '\n' };
    let lines = message.split_terminator(end);
    let lines: Vec<&str> = lines.map(|line| line.trim_end_matches('\r')).collect();
    let (header, body) = split_header(&lines);
    let decoded = has_mime(header).then(|| {
        let lines = header.iter().chain(body).map(|line| repaired(line) + "\n");
        mime_text(&lines.collect::<String>(), depth)
    });
    let Some((texts, inner)) = decoded.flatten() else {
        return own_text(body.iter().map(|line| (*line, false)));
    };
    let lines = texts
        .iter()
        .flat_map(|(text, is_html)| text.lines().map(|line| (line, *is_html)));
    let own = own_text(lines);
    let texts = [own].into_iter().chain(inner);
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// Separates the header, with the line that ends it, from the body. A text that begins with a
/// well-known field may have blank lines before it, end its header with a line of blanks, and have
/// no body if two fields are unmistakable. The header of another text ends at its first empty line.
fn split_header<'a>(lines: &'a [&'a str]) -> (&'a [&'a str], &'a [&'a str]) {
    let is_blank = |line: &&str| line.trim().is_empty();
    let start = lines.iter().position(|line| !is_blank(line)).unwrap_or(0);
    if !lines[start..].first().is_some_and(|line| is_known(line)) {
        let end = lines.iter().position(|line| line.is_empty());
        return lines.split_at(end.map_or(0, |line| line + 1));
    }
    let lines = &lines[start..];
    let is_part = |line: &&str| {
        field(line).is_some() || line.starts_with([' ', '\t', '>']) || line.starts_with("From ")
    };
    let header = lines
        .iter()
        .take_while(|line| !is_blank(line) && is_part(line));
    let count = header.count();
    let end = match lines.get(count) {
        None if unmistakable(lines) >= 2 => count,
        None => 0,
        Some(line) if is_blank(line) => count + 1,
        Some(_) => lines.iter().position(is_blank).map_or(0, |line| line + 1),
    };
    lines.split_at(end)
}

/// Returns the name of the field of a header that a line begins, in lower case.
fn field(line: &str) -> Option<String> {
    let name = line.split_once(':')?.0.trim_end();
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    is_name.then(|| name.to_ascii_lowercase())
}

/// Returns whether a line begins a field that only headers of messages have.
fn is_known(line: &str) -> bool {
    const NAMES: &str = " bcc cc date delivered-to dkim-signature errors-to followup-to from \
                         in-reply-to lines message-id mime-version newsgroups nntp-posting-host \
                         organization path received received-spf references reply-to return-path \
                         sender status subject to user-agent xref ";
    const STARTS: &str = " arc authentication content list resent x ";
    let envelope = line.strip_prefix("From ");
    let envelope = envelope.and_then(|rest| rest.split_once(' '));
    let is_listed = |names: &str, name: &str| names.contains(&format!(" {name} "));
    envelope.is_some_and(|(sender, _)| is_address(sender))
        || field(line).is_some_and(|name| {
            let start = name.split_once('-');
            is_listed(NAMES, &name) || start.is_some_and(|(start, _)| is_listed(STARTS, start))
        })
}

/// Counts the different fields of a header that ordinary texts do not have.
fn unmistakable(header: &[&str]) -> usize {
    const NAMES: &str = " content-transfer-encoding message-id mime-version newsgroups received \
                         references return-path ";
    let names = header.iter().filter_map(|line| {
        let name = field(line)?;
        let is_sender = name == "from" && line.split_whitespace().any(is_address);
        (is_sender || NAMES.contains(&format!(" {name} "))).then_some(name)
    });
    names.collect::<HashSet<_>>().len()
}

/// Returns whether a word looks like the address of a mail.
fn is_address(word: &str) -> bool {
    let parts = word.split_once('@');
    parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// Returns whether a header declares how the text is encoded.
fn has_mime(header: &[&str]) -> bool {
    let fields = ["content-type", "content-transfer-encoding"];
    let mut names = header.iter().filter_map(|line| field(line));
    names.any(|name| fields.contains(&&*name))
}

/// Returns a line of a MIME message without what the parser does not accept: blanks before the
/// colon of a field, and a separator of blanks.
fn repaired(line: &str) -> String {
    match line.split_once(':') {
        Some((name, value)) if field(line).is_some_and(|name| name.starts_with("content-")) => {
            format!("{}:{value}", name.trim_end())
        }
        _ if line.trim().is_empty() => String::new(),
        _ => line.to_owned(),
    }
}

/// The lines of a part of a message, and whether it was HTML.
type Part = (String, bool);

/// Returns the readable parts of a MIME message, and the bodies of the messages of a digest, or of
/// the message that is the whole content.
fn mime_text(message: &str, depth: usize) -> Option<(Vec<Part>, Vec<String>)> {
    /// Most messages within each other. Each is copied on the stack.
    const MOST: usize = 8;
    let parsed = MessageParser::default().parse(message)?;
    let text_of = |is_read: &dyn Fn(usize, &MessagePart<'_>) -> bool| -> Option<Vec<_>> {
        let parts = parsed.parts.iter().enumerate();
        let parts = parts.filter(|(place, part)| is_read(*place, part));
        let texts: Vec<Part> = parts
            .filter_map(|(_, part)| part_text(message, part))
            .collect();
        let is_filled = texts.iter().any(|(text, _)| !text.trim().is_empty());
        is_filled.then_some(texts)
    };
    let is_attached = |part: &MessagePart<'_>| {
        let place = part.content_disposition();
        place.is_some_and(|place| place.is_attachment())
    };
    let is_plain = |part: &MessagePart<'_>| {
        let kind = part.content_type();
        kind.is_none_or(|kind| kind.ctype() == "text" && kind.subtype() == Some("plain"))
    };
    let bodies = text_of(&|place, part| {
        let is_body = parsed.text_body.binary_search(&(place as u32)).is_ok();
        // The parser takes a part without its end or with wrong codes for an attachment.
        is_body || part.is_encoding_problem && is_plain(part) && !is_attached(part)
    });
    let digests = parsed.parts.iter().filter_map(|part| {
        let is_digest = part.content_type().and_then(|kind| kind.subtype()) == Some("digest");
        match &part.body {
            PartType::Multipart(parts) if is_digest => Some(parts),
            _ => None,
        }
    });
    let inner = [0].into_iter().chain(digests.flatten().copied());
    let inner = inner.filter_map(|place| {
        let part = parsed.parts.get(place as usize).filter(|_| depth < MOST)?;
        let raw = message.get(part.offset_body as usize..part.offset_end as usize)?;
        let is_message = matches!(part.body, PartType::Message(_));
        is_message.then(|| body_of(raw, depth + 1))
    });
    let inner: Vec<String> = inner.collect();
    // The plain alternative may be empty, and the type of the only part unknown.
    let other = || text_of(&|_, part| !is_attached(part)).filter(|_| inner.is_empty());
    let texts = bodies.or_else(other).unwrap_or_default();
    Some((texts, inner))
}

/// Returns the text of a part, or `None` if it has another type.
fn part_text(message: &str, part: &MessagePart<'_>) -> Option<Part> {
    let kind = part.content_type();
    let is_text = match &part.body {
        PartType::Text(_) | PartType::Html(_) => kind.is_none_or(|kind| kind.ctype() != "message"),
        // Without a boundary there are no parts.
        PartType::Binary(_) => kind.is_some_and(|kind| kind.ctype() == "multipart"),
        _ => false,
    };
    let raw = message.get(part.offset_body as usize..part.offset_end as usize);
    let raw = raw.filter(|_| is_text)?;
    let charset = kind.and_then(|kind| kind.attribute("charset"));
    let charset = charset_name(charset.unwrap_or_default());
    // A name may be in quotation marks, or before a comment.
    let transfer = part.content_transfer_encoding().unwrap_or_default();
    let transfer = transfer.trim_start_matches([' ', '"']).to_ascii_lowercase();
    let text = if transfer.starts_with("base64") {
        from_base64(raw, &charset).unwrap_or_else(|| raw.to_owned())
    } else if transfer.starts_with("quoted-printable") {
        from_quoted_printable(raw, &charset)
    } else if raw.is_ascii() && (charset.starts_with("iso-2022") || charset.starts_with("utf-7")) {
        from_charset(raw.as_bytes(), &charset)
    } else {
        // Such text was decoded on reading, whatever character set the header names.
        raw.to_owned()
    };
    let text = text.trim_start_matches('\u{feff}');
    let is_html = kind.is_some_and(|kind| kind.subtype() == Some("html"));
    let html = is_html.then(|| from_html(text));
    Some((html.unwrap_or_else(|| text.to_owned()) + "\n", is_html))
}

/// Elements within a line. All others start and end lines, because their words stand apart.
const INLINE: &str = " a abbr acronym b bdi bdo big blink cite code data del dfn em font i ins kbd \
                      label mark nobr q ruby s samp script small span strike strong style sub sup \
                      template time tt u var wbr ";

/// Returns the text of HTML.
fn from_html(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == ':' || c == '-';
    let head_end = ["</head", "<body"].iter().find_map(|end| {
        let mut places = lower.match_indices(end).map(|(at, _)| at);
        places.find(|at| !lower[at + end.len()..].starts_with(is_name))
    });
    let last_end = lower.rfind('>').unwrap_or(0);
    // After a value that does not end, no quotation mark counts: to look on would be quadratic.
    let mut is_whole = true;
    // Text with breaks as its only tags.
    let mut text = String::new();
    let mut start = 0;
    while let Some(tag) = lower[start..].find('<').map(|at| start + at) {
        push_after_break(&html[start..tag], &mut text);
        let rest = &lower[tag + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let name = &name[..name.find(|c| !is_name(c)).unwrap_or(name.len())];
        let is_ended = tag < last_end;
        let is_tag = is_ended && name.starts_with(|c: char| c.is_ascii_alphabetic());
        start = if rest.starts_with("!--") {
            let end = rest[1..].find("-->");
            end.map_or(html.len(), |end| tag + 2 + end + 3)
        } else if is_tag || is_ended && rest.starts_with(['!', '?']) {
            let end = is_whole.then(|| tag_end(rest)).flatten();
            is_whole = end.is_some();
            let end = end.or_else(|| rest.find('>').map(|at| at + 1));
            tag + 1 + end.unwrap_or(rest.len())
        } else {
            text += "&lt;";
            tag + 1
        };
        if !is_tag {
            continue;
        }
        let is_filled = !rest.starts_with('/') && !html[..start].ends_with("/>");
        if name == "head" && is_filled {
            start = head_end.unwrap_or(0).max(start);
        } else if ["script", "style", "template"].contains(&name) && is_filled {
            let end = lower[start..].find(&format!("</{name}"));
            start = end.map_or(html.len(), |end| start + end);
        } else if name == "br" {
            // The delimiter of a signature has a blank after its dashes.
            let line = text.rsplit(BREAK).next().unwrap_or_default();
            if let Some(blank) = line.strip_prefix("--")
                && (blank == "&nbsp;" || !blank.is_empty() && blank.trim().is_empty())
            {
                text.truncate(text.len() - blank.len());
                text += "&#32;";
            }
            text += BREAK;
        } else if !name.contains(':') && !INLINE.contains(&format!(" {name} ")) {
            text.truncate(text.trim_end().len());
            if !text.is_empty() && !text.ends_with(BREAK) {
                text += BREAK;
            }
        }
    }
    push_after_break(&html[start..], &mut text);
    html_to_text(&text)
}

const BREAK: &str = "<br>";

/// Appends a part of a line, without the white space at the start of a line.
fn push_after_break(part: &str, text: &mut String) {
    let is_start = text.is_empty() || text.ends_with(BREAK);
    *text += if is_start { part.trim_start() } else { part };
}

/// Returns the length of a tag after its `<`, or `None` if a value in quotation marks, which may
/// contain `>`, does not end.
fn tag_end(tag: &str) -> Option<usize> {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in tag.char_indices() {
        match quote {
            Some(mark) if c == mark => quote = None,
            None if c == '>' => return Some(at + 1),
            None if before == '=' && (c == '"' || c == '\'') => quote = Some(c),
            _ => {}
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    None
}

/// Decodes the lines of Base64 before other text, which mailing lists append. Returns `None` if
/// the whole text is other text.
fn from_base64(raw: &str, charset: &str) -> Option<String> {
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let is_code = |line: &&str| line.bytes().all(is_digit);
    let lines = || raw.lines().map(str::trim);
    let code: String = lines().take_while(is_code).collect();
    let text = from_charset(&base64_decode(code.as_bytes())?, charset);
    let is_odd = |c: char| c == char::REPLACEMENT_CHARACTER || c.is_control() && !c.is_whitespace();
    let is_whole = lines().all(|line| is_code(&line));
    (is_whole || !text.is_empty() && !text.contains(is_odd)).then_some(text)
}

/// Decodes Quoted-Printable. Characters beyond ASCII and wrong codes stay.
fn from_quoted_printable(raw: &str, charset: &str) -> String {
    let mut text = String::new();
    let mut bytes = Vec::new();
    for line in raw.split_inclusive('\n') {
        let mut rest = line.trim_end_matches([' ', '\t', '\r', '\n']);
        while let Some(next) = rest.chars().next().filter(|_| rest != "=") {
            let code = rest.strip_prefix('=').and_then(|code| code.get(..2));
            let code = code.and_then(|code| hex::decode(code).ok());
            let length = match code {
                Some(code) => {
                    bytes.extend(code);
                    3
                }
                None if next.is_ascii() => {
                    bytes.push(next as u8);
                    1
                }
                None => {
                    text += &from_charset(&std::mem::take(&mut bytes), charset);
                    text.push(next);
                    next.len_utf8()
                }
            };
            rest = &rest[length..];
        }
        if rest.is_empty() && line.ends_with('\n') {
            bytes.push(b'\n');
        }
    }
    text + &from_charset(&bytes, charset)
}

/// Returns the name by which the decoders know a character set; empty for ASCII.
fn charset_name(charset: &str) -> String {
    let lower = charset.trim().to_ascii_lowercase();
    // A name may end in its year.
    let plain = lower.chars().take_while(|c| *c != ':');
    let plain: String = plain.filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.strip_prefix("cs").unwrap_or(&plain);
    let plain = plain.strip_prefix('x').unwrap_or(plain);
    let pages = ["windows", "win", "cp", "ms", "ansi"];
    let page = pages.iter().find_map(|start| plain.strip_prefix(start));
    let name = match page.unwrap_or(plain) {
        "ascii" | "usascii" => "",
        "65000" | "utf7" | "unicode11utf7" | "unicode20utf7" => "utf-7",
        "50220" | "50221" | "50222" => "iso-2022-jp",
        name if name.starts_with("iso2022jp") => "iso-2022-jp",
        _ if charset_decoder(lower.as_bytes()).is_some() => return lower,
        "932" | "943" | "sjis" | "31j" => "windows-31j",
        "949" | "uhc" => "windows-949",
        "950" | "big5" | "big5hkscs" => "big5",
        "936" | "gbk" | "euccn" => "gbk",
        "874" => "windows-874",
        "20866" | "koi8r" | "koi8" => "koi8-r",
        "21866" | "koi8u" | "koi8ru" => "koi8-u",
        "51932" | "eucjp" | "eucjpms" | "ujis" => "euc-jp",
        "51949" | "euckr" => "euc-kr",
        "10007" | "maccyrillic" | "macukrainian" | "macukraine" => "x-mac-cyrillic",
        "macroman" | "macwestern" => "macintosh",
        "65001" => "utf-8",
        name if page.is_some() && name.starts_with("125") => return format!("windows-{name}"),
        name => {
            // The order of Hebrew and Arabic letters may follow: implicit or explicit.
            let part = name.strip_prefix("iso8859").or(name.strip_prefix("8859"));
            let part = part.map(|part| part.trim_end_matches(['i', 'e']));
            return part.map_or(lower, |part| format!("iso-8859-{part}"));
        }
    };
    name.to_owned()
}

/// Decodes UTF-7. The decoder of the mail parser drops the character after a code that no hyphen
/// ends, and the code at the end of a text.
fn from_utf7(text: &str) -> String {
    let mut parts = text.split('+');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_code = |c: char| c.is_ascii_alphanumeric() || c == '/';
        let (code, rest) = part.split_at(part.find(|c| !is_code(c)).unwrap_or(part.len()));
        let decode = charset_decoder(b"utf-7").filter(|_| !code.is_empty());
        whole += &decode.map_or("+".to_owned(), |own| own(format!("+{code}-").as_bytes()));
        whole += rest.strip_prefix('-').unwrap_or(rest);
    }
    whole
}

/// Decodes bytes in a character set of [`charset_name`]. Programs that name no character set, or
/// ASCII, or an unknown one, mostly write UTF-8, or else Windows-1252.
fn from_charset(bytes: &[u8], name: &str) -> String {
    if name == "utf-7" {
        return from_utf7(&String::from_utf8_lossy(bytes));
    }
    let decoder = charset_decoder(name.as_bytes()).or_else(|| {
        let is_western = !name.starts_with("utf") && str::from_utf8(bytes).is_err();
        charset_decoder(b"windows-1252").filter(|_| is_western)
    });
    let lossy = || String::from_utf8_lossy(bytes).into_owned();
    decoder.map_or_else(lossy, |decode| decode(bytes))
}

/// Returns the lines of a body without signature and quotations. Each comes with whether it was
/// HTML, whose cells and empty blocks are lines too, and no signs of a signature or quotation.
fn own_text<'a>(body: impl Iterator<Item = (&'a str, bool)>) -> String {
    let body: Vec<_> = body.collect();
    let body = without_margin(&body);
    // Many programs strip the trailing blank of the delimiter.
    let delimiter =
        |(line, is_html): &(&str, bool)| *line == "-- " || !is_html && line.trim_end() == "--";
    let ruler = |line: &str| line.trim().trim_matches('-').is_empty();
    let last_ruler = || {
        let mut lines = body.iter();
        let last = lines.rposition(|(line, is_html)| *is_html || ruler(line));
        last.filter(|line| *line > 0 && !body[*line].1)
    };
    let signature = body.iter().rposition(delimiter);
    let signature = signature.filter(|line| *line > 0).or_else(last_ruler);
    let body = &body[..signature.unwrap_or(body.len())];
    let is_own = |(line, is_html): &&(&str, bool)| {
        !introduces(line) && (*is_html || !line.starts_with(QUOTED))
    };
    let own: Vec<(&str, bool)> = body.iter().filter(is_own).copied().collect();
    let own = without_margin(&own).iter().map(|(line, _)| *line);
    own.collect::<Vec<_>>().join("\n")
}

/// Strips blank lines at both ends.
fn without_margin<'a>(mut lines: &'a [(&'a str, bool)]) -> &'a [(&'a str, bool)] {
    while let [first, rest @ ..] = lines
        && first.0.trim().is_empty()
    {
        lines = rest;
    }
    while let [rest @ .., last] = lines
        && last.0.trim().is_empty()
    {
        lines = rest;
    }
    lines
}

/// The first characters of quoted lines.
const QUOTED: [char; 2] = ['>', '|'];

/// Returns whether a line of a message introduces a quotation.
fn introduces(line: &str) -> bool {
    let parts = ["writes in", "writes:", "wrote:", "says:", "said:"];
    line.starts_with("In article")
        || line.starts_with("Quoted from")
        || parts.iter().any(|part| line.contains(part))
}

/// Adds typing errors to a public text, to measure their effect: `share` of the words longer than
/// three characters get one extra, missing, wrong or transposed letter.
///
/// # Leaks
/// The result contains the text.
///
/// # Shapes
/// `text`: any, split at spaces; `share`: `0..=1`.
///
/// # Cost
/// Linear in the text.
pub fn misspelt(text: &str, share: f64, seed: u64) -> String {
    let mut rng = PublicRng::new(seed);
    let mut below = |n: usize| rng::below(&mut rng, n as u128) as usize;
    let words = text.split(' ').map(|word| {
        let mut letters: Vec<char> = word.chars().collect();
        if letters.len() <= 3 || below(1 << 20) as f64 >= share * f64::from(1 << 20) {
            return word.to_owned();
        }
        let letter = char::from(b'a' + below(26) as u8);
        let place = below(letters.len() - 1);
        match below(4) {
            0 => letters.insert(place, letter),
            1 => drop(letters.remove(place)),
            2 => letters[place] = letter,
            _ => letters.swap(place, place + 1),
        }
        letters.into_iter().collect()
    });
    words.collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{
        QUOTED, end_of_sentences, english_stop_words, introduces, message_body, read_word_list,
        sentences,
    };
    use proptest::prelude::*;

    #[test]
    fn sentences_end_where_they_end() {
        let text = "One. Two here! Three?";
        let cut = |count| &text[..end_of_sentences(text, count)];
        assert_eq!(cut(0), "");
        assert_eq!(cut(1).trim_end(), "One.");
        assert_eq!(sentences(cut(2)), ["One.", "Two here!"]);
        assert_eq!(cut(3), cut(usize::MAX));
        assert_eq!(end_of_sentences("", 3), 0);
    }

    #[test]
    fn drops_pieces_without_letters_and_trims() {
        assert_eq!(
            sentences("  One.\n\n-- * --\n\n\t Two \n\n!?\n\n"),
            ["One.", "Two"]
        );
        assert!(sentences("").is_empty());
        assert!(sentences(" \u{0}\u{b}\u{2028}... ").is_empty());
    }

    #[test]
    fn stop_words_are_found_as_a_text_has_them() {
        let list = english_stop_words();
        assert_eq!(list.len(), 198);
        for word in ["the", "couldn't", "i", "yourselves"] {
            assert!(list.iter().any(|own| own == word), "{word}");
        }
    }

    #[test]
    fn word_lists_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let read = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            read_word_list(&path)
        };
        let sorted = |content: &[u8]| {
            let mut list: Vec<_> = read(content).unwrap().into_iter().collect();
            list.sort();
            list
        };
        let list = sorted(b"\xef\xbb\xbfOne\r\n\ntwo three\none\n");
        assert_eq!(list, ["one", "three", "two"]);
        let counted = sorted(b"One\t12\n##ed\t0.5\nCovid 19\t3\nthree\n");
        assert_eq!(counted, ["19", "covid", "ed", "one", "three"]);
        assert_eq!(read(b"one\ttwo\ncovid 19\nand\n").unwrap().len(), 5);
        assert_eq!(read(b"one two three four 5\n").unwrap().len(), 5);
        for few in [
            "covid 19\nwindows 95\nball\n",
            "3 pm\n4 pm\nball\n",
            "covid 19\nwindows 95\n3 pm\n4 pm\n",
        ] {
            assert!(read(few.as_bytes()).is_ok(), "{few}");
        }
        for (content, part) in [
            (&b"one\ntw\xff"[..], "line 2"),
            (
                b"word\tcount\none\t12\n",
                "line 1: after the tab is no number, as on line 2",
            ),
            (b"", "no word"),
            (b"--\n", "no word"),
        ] {
            let error = read(content).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        for (content, line, place) in [
            (
                &b"\none 12\ntwo 3\nthree 1\nfour 1\n"[..],
                2,
                "after a space",
            ),
            (
                &[&b"word,count\n"[..], &b"a,12\n".repeat(9)].concat(),
                2,
                "after a comma",
            ),
            (
                b"one|12\ntwo|3\nthree|2\nfour|1\n",
                1,
                "after a vertical bar",
            ),
            (&b"one\tNN\t12\n".repeat(4), 1, "after a tab"),
            (&b"one\t12\tNN\n".repeat(4), 1, "after a tab"),
            (&b"12\tone\n".repeat(4), 1, "before the word"),
            (&b"  12 one\n".repeat(4), 1, "before the word"),
        ] {
            let part = format!("line {line}: the number stands {place}");
            let error = read(content).unwrap_err().to_string();
            assert!(error.contains(&part), "{error}");
        }
    }

    #[test]
    fn messages_lose_header_quotations_and_signature() {
        let message = concat!(
            "From: ann@example.org\r\nSubject: Re: bread\r\n\r\n",
            "In article <1@x>, bob@example.org (Bob) writes:\r\n",
            ">How long?\r\n> And how hot?\r\n| (me too)\r\n\r\n",
            "An hour.\r\n\r\nVery hot > 200.\r\n\r\n",
            "Ann\r\nann@example.org\r\n\r\n",
        );
        assert_eq!(message_body(message), "An hour.\n\nVery hot > 200.");
        for (message, body) in [
            ("", ""),
            ("\n\n", ""),
            ("> quoted", ""),
            // A header without an empty line has only fields, two of which only messages have.
            ("From: a@b.c\nSubject: bread\n and more\nMessage-ID: 3", ""),
            ("From a@b.c now\nFrom: a@b.c\nReceived: now", ""),
            ("From a@b.c now\nA: b\n \nText.", "Text."),
            ("\n \nFrom: a@b.c\n\nText.", "Text."),
            ("\nA: b\n\nText.\n\nMore.", "A: b\n\nText."),
            ("From: a@b.c\nX-y : z\n  \nText.\nMore.", "Text.\nMore."),
            ("From: a@b.c\rDate: now\r\rText.\rMore.", "Text.\nMore."),
            ("From: a@b.c\r\r\n\r\r\nText.\r\r\nMore.", "Text.\nMore."),
            ("A: b\n\n", ""),
            // A message is not all signature.
            ("A: b\n\nText.", "Text."),
            ("A: b\n\n\n\nText.\nMore.\n\n", "Text.\nMore."),
            ("A: b\n\n-----\nText.\nMore.", "-----\nText.\nMore."),
            ("A: b\n\n-- \nText.\n", "-- \nText."),
            ("A: b\n\nText.\n ---- \nAnn", "Text."),
            ("A: b\n\nText.\n\nMore.\n\nAnn", "Text.\n\nMore."),
            // The delimiter takes precedence over an empty line after it.
            ("A: b\n\nText.\n\nMore.\n-- \nAnn\n\nDr.", "Text.\n\nMore."),
            ("A: b\n\nText.\n--\nAnn\n\nDr.", "Text."),
        ] {
            assert_eq!(message_body(message), body, "{message:?}");
        }
        // Without an empty line these are no headers.
        for text in [
            "one line",
            "two\nlines",
            "Date: 3\nFrom: Ann <a@b.c>\nFrom: a@b.c",
            "From: Ann\nAnn: soup\nReferences: 2",
            "Subject: bread\nX-ray: soup",
            "Content-Type: soup",
            "From me @ sea\nsand: hot",
            "From: a@b.c\nBread.",
            "A: b\nB: c",
        ] {
            assert_eq!(message_body(text), text);
        }
    }

    #[test]
    fn messages_are_decoded_as_their_header_says() {
        for (message, body) in [
            (
                "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n\
                 RGllIFN1cHBlIGlzdCB6dSBzYWx6aWcu\nIFVuZCBrYWx0LCBmw7xyIG1pY2gu\n",
                "Die Suppe ist zu salzig. Und kalt, für mich.",
            ),
            (
                "From: a@b.c\r\ncontent-type: text/plain; charset=iso-8859-1\r\n\
                 content-transfer-encoding: quoted-printable\r\n\r\nF=FCr =\r\nmich.\r\n> F=FCr dich?\r\n",
                "Für mich.",
            ),
            (
                "MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary=\"b\"\n\nThis is MIME.\n\
                 --b\nContent-Type: text/plain\n\nPlain text.\n-- \nBob\n\
                 --b\nContent-Type: text/html\n\n<p>Marked <b>text</b>.</p>\n--b--\n",
                "Plain text.",
            ),
            (
                "Content-Type: multipart/mixed; boundary=b\n\n\
                 --b\nContent-Type: text/html\n\n<p>Marked <b>text</b>.</p>\n\
                 --b\nContent-Type: text/csv\nContent-Disposition: attachment\n\nx,y\n--b--\n",
                "Marked text.",
            ),
            // The character set is that of the bytes before they were decoded to this text.
            (
                "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n\nFür mich.\n",
                "Für mich.",
            ),
            (
                "Content-Type: text/plain; charset=iso-2022-jp\n\n\u{1b}$B$3$s$K$A$O\u{1b}(B\n",
                "こんにちは",
            ),
            (
                "Content-Type: text/plain; charset=utf-16\n\nSoup.\n",
                "Soup.",
            ),
            // A mailing list appended a footer.
            (
                "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: BASE64 (sic)\n\n\
                 S2FsdCwgZsO8ciBtaWNoLg==\n_______\nSoups mailing list\n",
                "Kalt, für mich.",
            ),
            (
                "Content-Transfer-Encoding: base64\n\nSoup?\nHot.\n",
                "Soup?\nHot.",
            ),
            // Codes that are wrong, and characters that need none.
            (
                "Content-Type: text/plain; charset=iso-8859-1\n\
                 Content-Transfer-Encoding: \"quoted-printable\"\n\n1+1=2, f=FCr für =  \nmich. \n=ZZ\n",
                "1+1=2, für für mich.\n=ZZ",
            ),
            (
                "Content-Type: text/plain; charset=us-ascii\nContent-Transfer-Encoding: quoted-printable\n\nf=C3=BCr\n",
                "für",
            ),
            (
                "Content-Type: text/plain; charset=unknown-8bit\n\
                 Content-Transfer-Encoding: quoted-printable\n\nf=FCr\n",
                "für",
            ),
            (
                "Content-Type: text/plain; charset=cp949\nContent-Transfer-Encoding: base64\n\nvsiz58fPvLy/5A==\n",
                "안녕하세요",
            ),
            ("Content-Type: text\n\nSoup.\n", "Soup."),
            // Parts without an end, and no parts.
            (
                "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nOne.\n--b\n\nTwo.\n",
                "One.\nTwo.",
            ),
            (
                "Content-Type: multipart/mixed; boundary=b\n\nSoup.\n",
                "Soup.",
            ),
            ("Content-Type: multipart/mixed\n\nSoup.\n", "Soup."),
            (
                "Content-Type: multipart/alternative; boundary=b\n\n--b\nContent-Type: text/plain\n\n\n\
                 --b\nContent-Type: text/html\n\n<p>Soup.</p>\n--b--\n",
                "Soup.",
            ),
            // Cells and empty blocks of HTML are no signs of a signature or quotation.
            (
                "Content-Type: text/html\n\n<div>Soup.</div><div><br></div><p>&nbsp;</p>\
                 <td>--</td><td> - </td><li>&gt; Bread</li><td>| Salt</td>\
                 <p>-- </p><div>Ann wrote:</div><p>Hot.</p>-- <br><div>Bob</div>\n",
                "Soup.\n\n\u{a0}\n--\n-\n> Bread\n| Salt\n--\nHot.",
            ),
            (
                "Content-Type: text/html\n\n<p>Soup.</p><span>--&nbsp;</span><br>Bob\n",
                "Soup.",
            ),
            (
                "Content-Type: multipart/mixed; boundary=b\n\n\
                 --b\nContent-Type: text/plain\n\n> Salt?\nSoup.\n\nBread.\n\
                 --b\nContent-Type: text/html\n\n<p>Hot.</p>\n--b--\n",
                "Soup.\n\nBread.\nHot.",
            ),
            (
                "Content-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAAA\n",
                "",
            ),
        ] {
            assert_eq!(message_body(message), body, "{message}");
        }
    }

    #[test]
    fn odd_headers_and_messages_within_messages_are_decoded() {
        for (message, body) in [
            (
                "\n \nSubject : Soup\r\nContent-Transfer-Encoding : base64\n \t\nU291cC4=\n",
                "Soup.",
            ),
            (
                "Content-Type: text/plain\r\r\nSubject: x\r\r\n\r\r\nSoup.\r\r\nBread.\r\r\n",
                "Soup.\nBread.",
            ),
            (
                "Content-Type: message/rfc822\n\nSubject: x\n\
                 Content-Transfer-Encoding: base64\n\nU291cC4=\n",
                "Soup.",
            ),
            (
                "Content-Type: multipart/digest; boundary=b\n\n\
                 --b\n\nFrom: a@b.c\nSubject: x\n\nSoup.\n\nAnn\n\
                 --b\nContent-Type: message/rfc822\n\nFrom: a@b.c\n\nBread.\n--b--\n",
                "Soup.\nBread.",
            ),
            (
                "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nSoup.\n\
                 --b\nContent-Type: message/rfc822\n\nFrom: a@b.c\n\nForwarded.\n--b--\n",
                "Soup.",
            ),
            (
                "Content-Type: text/plain; charset=unicode-1-1-utf-7\n\n\
                 +BD8EQAQ4BDIENQRC soup, 1 +- 1, +AKM-1 +AKM",
                "привет soup, 1 + 1, £1 £",
            ),
        ] {
            assert_eq!(message_body(message), body, "{message}");
        }
    }

    #[test]
    fn character_sets_are_known_by_many_names() {
        for (names, bytes, text) in [
            ("cp950 x-big5 x-x-big5 MS950", &b"\xa7A\xa6n"[..], "你好"),
            ("cp874 windows874 x-windows-874", b"\xca\xc7\xd1", "สวั"),
            ("win-1251 cp1251 x-cp1251 windows1251", b"\xcf\xf0", "Пр"),
            ("koi8r koi8_r csKOI8R cp20866", b"\xf0\xd2", "Пр"),
            ("eucjp euc_jp x-eucjp x-euc-jp", b"\xa4\xb3", "こ"),
            ("euckr euc_kr x-euc-kr", b"\xbe\xc8", "안"),
            ("mac-cyrillic x-mac-cyrillic", b"\x8f\xf0", "Пр"),
            (
                "iso-2022-jp-1 iso-2022-jp-2 csiso2022jp cp50220",
                b"\x1b$B$3\x1b(B",
                "こ",
            ),
            ("iso8859-5 iso_8859-5 ISO8859_5 8859_5", b"\xbf\xe0", "Пр"),
            (
                "iso-8859-8-i ISO-8859-8-E csISO88598i csISO88598e iso_8859-8:1988 iso8859-8-i",
                b"\xf9\xec",
                "של",
            ),
            ("iso-8859-6-i iso-8859-6-e csISO88596i 8859_6", b"\xe1", "ف"),
            (
                "ISO_8859-2:1987 iso8859-2:1987 latin2 csisolatin2",
                b"\xb3",
                "ł",
            ),
            ("latin1 iso-8859-1 l1 unknown", b"f\xfcr", "für"),
            ("utf8 utf-8 cp65001 us-ascii", "für".as_bytes(), "für"),
        ] {
            for name in names.split(' ') {
                let found = super::from_charset(bytes, &super::charset_name(name));
                assert_eq!(found, text, "{name}");
            }
        }
    }

    #[test]
    fn elements_of_html_part_words() {
        for (html, text) in [
            ("<div>Hello</div><div>tomatoes</div>", "Hello\ntomatoes\n"),
            ("<ul><li>One<li>Two</ul>", "One\nTwo\n"),
            ("<tr><th>A<td>b</td></tr><hr>c", "A\nb\nc"),
            ("Hello<p>tomatoes", "Hello\ntomatoes"),
            ("<H1 id=a>A</H1> <my-part>b</my-part>c", "A\nb\nc"),
            ("<select><option>A<option>b</select>", "A\nb\n"),
            ("<title>A</title><section>b</section>", "A\nb\n"),
            ("a<img src='x>y'>b<br>c<br/><br />d", "a\nb\nc\n\nd"),
            ("<p>A <b>b</b>o<i>l</i>d</p>\n <p> x</p>", "A bold\nx\n"),
            ("An<o:p></o:p>other<wbr>word", "Anotherword"),
            (
                "1 < 2 and Hello <3 &lt;b&gt; a<b",
                "1 < 2 and Hello <3 <b> a<b",
            ),
            ("<a title=\"x>gtx\" b='>'>Hello</a>", "Hello"),
            ("<a title=it's>Hello</a> <b x=\"y>z</b>", "Hello z"),
            ("<!-- <p>x</p> --->A<!---->b<!-->c<!DOCTYPE x>", "Abc"),
            ("<head><title>x</title></head><body>A", "A"),
            (
                "<style>p > a {}</style>A<script>if (a < b) {}</script>b",
                "Ab",
            ),
            ("A<!-- b", "A"),
            ("A &lt;<script>if (x) {}</script>b", "A <b"),
            ("<style x='y'/><script src=x />A<template/>b", "Ab"),
            ("A<nobr>n</nobr>o<blink>ther</blink>", "Another"),
            ("<head><title>x</title><body>A<header>b</header>", "A\nb\n"),
            ("<head><header-x>x</head-x></head>A", "A"),
            ("", ""),
        ] {
            assert_eq!(super::from_html(html), text, "{html}");
        }
        // The time is linear, or this takes minutes.
        let text = super::from_html(&("<a b='>'".repeat(1 << 17) + " soup"));
        assert!(text == "'".repeat(1 << 17) + " soup");
    }

    /// Strings made of the characters that message rules examine.
    fn message() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            Just(String::new()),
            "[ -]{0,4}",
            "[>|] ?[a-z]{0,3}",
            "(In article|Quoted from|.{0,3}wrote:|[a-z]: [a-z]{1,3})",
            ".{0,12}",
        ];
        (proptest::collection::vec(line, 0..20), "(\n|\r\n)")
            .prop_map(|(lines, end)| lines.join(&end))
    }

    proptest! {
        #[test]
        fn a_body_is_unquoted_lines_of_its_message(
            message in prop_oneof![message(), any::<String>()]
        ) {
            let body = message_body(&message);
            let mut rest = message.lines();
            for line in body.split('\n').filter(|_| !body.is_empty()) {
                let is_there = rest.any(|other| other.trim_end_matches('\r') == line);
                prop_assert!(is_there, "{line:?} is missing in this order");
                prop_assert!(!introduces(line) && !line.starts_with(QUOTED));
            }
        }

        #[test]
        fn a_plain_paragraph_stays(
            header in proptest::collection::vec("[A-Z][a-z]{1,5}: [a-z]{1,5}", 1..4),
            lines in proptest::collection::vec("[a-z]{1,9}", 1..5),
        ) {
            let body = lines.join("\n");
            let message = format!("{}\n\n{body}\n", header.join("\n"));
            prop_assert_eq!(message_body(&message), &*body);
            prop_assert_eq!(message_body(&body), body);
        }
    }
}
