//! Names of version 0.1, which this version still accepts and no help mentions.

use std::ffi::OsString;

/// Earlier subcommands, and what they are called now.
const COMMANDS: [(&str, &[&str]); 10] = [
    ("budget", &["plan", "budget"]),
    ("candidates", &["inspect", "--as", "candidates"]),
    ("distil", &["lexicon", "distil"]),
    ("encode", &["lexicon", "encode"]),
    ("keywords", &["lexicon", "keywords"]),
    ("ledger", &["inspect", "--as", "ledger"]),
    ("obfuscate", &["release", "words"]),
    ("privatize", &["release", "documents"]),
    ("project", &["lexicon", "project"]),
    ("vocabulary", &["lexicon", "import"]),
];

/// The subcommands of `plan`, which had none.
const PLANS: [&str; 4] = ["budget", "devices", "statement", "window"];

/// The arguments of this program, with earlier names replaced.
pub(crate) fn renamed(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let is_option = |argument: &OsString| argument.as_encoded_bytes().starts_with(b"-");
    let verb = arguments
        .iter()
        .skip(1)
        .position(|argument| !is_option(argument));
    let Some(mut place) = verb.map(|place| place + 1) else {
        return arguments;
    };
    let is_help = arguments[place] == "help";
    place += usize::from(is_help);
    let Some(verb) = arguments.get(place).and_then(|verb| verb.to_str()) else {
        return arguments;
    };
    let mut names: Vec<&str> = match COMMANDS.iter().find(|(former, _)| *former == verb) {
        Some((_, now)) => now.to_vec(),
        None => vec![verb],
    };
    let mut rest: Vec<OsString> = arguments[place + 1..].to_vec();
    if is_help {
        names.retain(|name| !name.starts_with('-') && *name != "candidates" && *name != "ledger");
    } else if verb == "ledger" && rest.iter().any(|option| option == "--recreate-spent") {
        names = vec!["release", "recreate-ledger"];
        rest.retain(|option| option != "--recreate-spent");
    } else if verb == "plan"
        && rest
            .first()
            .is_some_and(|first| is_option(first) && first != "--help" && first != "-h")
        && !rest
            .iter()
            .any(|name| PLANS.iter().any(|plan| name == plan))
    {
        names.push("devices");
    }
    let names = names.into_iter().map(OsString::from).collect::<Vec<_>>();
    if matches!(verb, "budget" | "estimate" | "plan") {
        name_json_file(&mut rest);
    }
    arguments.truncate(place);
    arguments.extend(names);
    arguments.extend(rest);
    arguments
}

/// `--json FILE` was an option with a value, `-` for standard output.
fn name_json_file(options: &mut Vec<OsString>) {
    if let Some(place) = options.iter().position(|option| option == "--json")
        && let Some(file) = options.get(place + 1)
    {
        if file == "-" {
            options.remove(place + 1);
        } else if !file.as_encoded_bytes().starts_with(b"-") {
            options[place] = "--json-file".into();
        }
    }
}
