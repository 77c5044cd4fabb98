//! The files that sentence-transformers puts beside a model: modules, pooling, lengths and prompts.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::files::foreign;

const MODULES: &str = "modules.json";
const POOLING: &str = "1_Pooling";
const POOLING_CONFIG: &str = "config.json";
const PROMPTS: &str = "config_sentence_transformers.json";

/// The folder of the transformer in old versions.
pub(super) const INNER: &str = "0_Transformer";

/// The modules that have folders of their names, such as `2_Dense`.
const KNOWN: [&str; 11] = [
    "Pooling",
    "Dense",
    "Normalize",
    "Dropout",
    "LayerNorm",
    "CNN",
    "LSTM",
    "WeightedLayerPooling",
    "WordWeights",
    "SpladePooling",
    "Router",
];

/// The file names of a transformer's settings in versions of sentence-transformers.
const TRANSFORMER: [&str; 7] = [
    "sentence_bert_config.json",
    "sentence_roberta_config.json",
    "sentence_distilbert_config.json",
    "sentence_camembert_config.json",
    "sentence_albert_config.json",
    "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json",
];

/// The function from the vectors of the tokens to the vector of the sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    First,
    Max,
    Mean,
    /// The sum divided by the square root of the number of tokens.
    MeanSqrt,
    /// The mean with weights 1, 2, 3 ... in the order of the tokens.
    WeightedMean,
    Last,
}

const MEAN_SQRT: &str = "mean_sqrt_len_tokens";

/// All poolings in the order in which sentence-transformers concatenates them, with their names as
/// `pooling_mode` and after `pooling_mode_`.
const POOLINGS: [(Pooling, &str, &str); 6] = [
    (Pooling::First, "cls", "cls_token"),
    (Pooling::Max, "max", "max_tokens"),
    (Pooling::Mean, "mean", "mean_tokens"),
    (Pooling::MeanSqrt, MEAN_SQRT, MEAN_SQRT),
    (Pooling::WeightedMean, "weightedmean", "weightedmean_tokens"),
    (Pooling::Last, "lasttoken", "lasttoken"),
];

impl Pooling {
    /// Pools the vectors of at least one token, row by row. Sums are in the order of the tokens.
    pub(super) fn pool(self, states: &[f32], out: &mut [f32]) {
        let width = out.len();
        let tokens = (states.len() / width) as f32;
        match self {
            Self::First => out.copy_from_slice(&states[..width]),
            Self::Last => out.copy_from_slice(&states[states.len() - width..]),
            Self::Max => {
                out.copy_from_slice(&states[..width]);
                for state in states.chunks_exact(width) {
                    for (most, value) in out.iter_mut().zip(state) {
                        if *value > *most || value.is_nan() {
                            *most = *value;
                        }
                    }
                }
            }
            Self::Mean => add(states, out, |_| 1.0, tokens),
            Self::MeanSqrt => add(states, out, |_| 1.0, tokens.sqrt()),
            Self::WeightedMean => {
                let all = tokens * (tokens + 1.0) / 2.0;
                add(states, out, |token| (token + 1) as f32, all);
            }
        }
    }
}

/// Adds the vectors of tokens, each times the weight of its position, and divides the sum.
fn add(states: &[f32], out: &mut [f32], weight: impl Fn(usize) -> f32, by: f32) {
    out.fill(0.0);
    for (token, state) in states.chunks_exact(out.len()).enumerate() {
        let weight = weight(token);
        for (sum, value) in out.iter_mut().zip(state) {
            *sum += weight * value;
        }
    }
    out.iter_mut().for_each(|sum| *sum /= by);
}

/// The processing of a sentence before the model, and of its tokens' vectors after it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// At least one; their vectors are concatenated.
    pub(super) poolings: Vec<Pooling>,
    /// Whether the vector of a sentence is scaled to length 1.
    pub(super) normalise: bool,
    /// The longest sentence in tokens, if these files state it.
    pub(super) max_tokens: Option<usize>,
    pub(super) lower_case: bool,
    /// The text before each sentence.
    pub(super) prompt: String,
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            poolings: vec![Pooling::Mean],
            normalise: false,
            max_tokens: None,
            lower_case: false,
            prompt: String::new(),
        }
    }
}

#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
    path: String,
}

#[derive(Deserialize)]
struct Transformer {
    /// A real number, because some programs write 1e30 for "no limit".
    max_seq_length: Option<f64>,
    do_lower_case: Option<bool>,
}

#[derive(Default, Deserialize)]
struct Prompts {
    prompts: Option<Map<String, Value>>,
    default_prompt_name: Option<String>,
}

impl Layout {
    /// Returns the first folder that has such files. Those above a folder of the transformer come
    /// first, because old versions put its settings there.
    pub(super) fn find(folders: &[PathBuf]) -> Option<&Path> {
        let has = |folder: &PathBuf| {
            let mut files = [MODULES, PROMPTS].iter().chain(&TRANSFORMER);
            files.any(|name| folder.join(name).exists()) || !folder_modules(folder).is_empty()
        };
        let is_own = |folder: &&PathBuf| has(folder) && !folder.ends_with(INNER);
        let found = folders.iter().find(is_own);
        found
            .or_else(|| folders.iter().find(|folder| has(folder)))
            .map(PathBuf::as_path)
    }

    /// Reads the files of a folder; each may be missing.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io);
    /// [`ErrorKind::Encoder`](crate::error::ErrorKind::Encoder) for an unsupported module or
    /// pooling, and for files with another structure.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let mut layout = Self::default();
        let mut path = folder.join(MODULES);
        let listed = json::<Vec<Module>>(&path)?;
        let unlisted = folder_modules(folder);
        // Only a folder that has no modules at all leaves the pooling open.
        let is_stated = listed.is_some() || !unlisted.is_empty();
        if listed.is_none() {
            path.pop();
        }
        let modules = listed.unwrap_or_else(|| {
            let module = |kind: &str, path: &str| Module {
                kind: kind.to_owned(),
                path: path.to_owned(),
            };
            let mut modules = vec![module("Transformer", ""), module("Pooling", POOLING)];
            let rest = unlisted.iter().filter(|name| *name != POOLING);
            modules.extend(rest.map(|name| module(&name[2..], name)));
            modules
        });
        let mut has_pooling = false;
        for (place, module) in modules.iter().enumerate() {
            let name = module.kind.rsplit('.').next().unwrap_or_default();
            // Programs on Windows wrote backslashes.
            let inner = folder.join(module.path.replace('\\', "/"));
            match name {
                "Transformer" if place == 0 => layout.transformer(&inner)?,
                "Pooling" if place > 0 && !has_pooling => {
                    layout.pooling(folder, &inner.join(POOLING_CONFIG), is_stated)?;
                    has_pooling = true;
                }
                "Normalize" if has_pooling => layout.normalise = true,
                // Dropout has an effect in training only.
                "Dropout" if place > 0 => {}
                _ => {
                    let problem = format!(
                        "module {place} is `{name}`, which is not computed here; take a model of the modules Transformer, \
                         Pooling and perhaps Normalize, in this order"
                    );
                    return Err(refused(&path, problem));
                }
            }
        }
        if !has_pooling {
            let problem = "it has no module Pooling; take a model with one";
            return Err(refused(&path, problem));
        }
        Ok(layout)
    }

    fn transformer(&mut self, folder: &Path) -> Result<()> {
        for name in TRANSFORMER {
            if let Some(settings) = json::<Transformer>(&folder.join(name))? {
                self.max_tokens = settings.max_seq_length.map(|tokens| tokens as usize);
                self.lower_case = settings.do_lower_case.unwrap_or(false);
                break;
            }
        }
        Ok(())
    }

    fn pooling(&mut self, folder: &Path, path: &Path, is_stated: bool) -> Result<()> {
        let Some(config) = json::<Map<String, Value>>(path)? else {
            if is_stated {
                return Err(Error::encoder(format!(
                    "the file `{}` of the module Pooling does not exist; download it with the model",
                    path.display()
                )));
            }
            return self.prompts(folder, path, true);
        };
        let includes_prompt = config.get("include_prompt") != Some(&Value::Bool(false));
        self.prompts(folder, path, includes_prompt)?;
        let listed: Vec<String> = match config.get("pooling_mode") {
            Some(Value::String(name)) => vec![name.to_lowercase()],
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                names.map(str::to_lowercase).collect()
            }
            _ => {
                // Each pooling has a flag. A missing flag means true for the mean and false for the
                // others.
                let flags = config
                    .iter()
                    .filter(|(_, value)| value.as_bool() == Some(true));
                let flags = flags.filter_map(|(key, _)| key.strip_prefix("pooling_mode_"));
                let mut names: Vec<String> = flags.map(str::to_owned).collect();
                if !config.contains_key("pooling_mode_mean_tokens") {
                    names.push("mean_tokens".to_owned());
                }
                names
            }
        };
        let is_named = |own: &(Pooling, &str, &str), name: &str| own.1 == name || own.2 == name;
        let is_known = |name: &String| POOLINGS.iter().any(|own| is_named(own, name));
        if let Some(unknown) = listed.iter().find(|name| !is_known(name)) {
            let known: Vec<&str> = POOLINGS.iter().map(|(_, mode, _)| *mode).collect();
            let known = known.join(", ");
            let problem =
                format!("the pooling `{unknown}` is not computed here; computed are {known}");
            return Err(refused(path, problem));
        }
        let is_chosen =
            |own: &&(Pooling, &str, &str)| listed.iter().any(|name| is_named(own, name));
        self.poolings = POOLINGS.iter().filter(is_chosen).map(|own| own.0).collect();
        if self.poolings.is_empty() {
            return Err(refused(path, "it has no pooling mode that is true"));
        }
        Ok(())
    }

    /// Reads the default prompt.
    fn prompts(&mut self, folder: &Path, pooling: &Path, includes_prompt: bool) -> Result<()> {
        let path = folder.join(PROMPTS);
        let settings = json::<Prompts>(&path)?.unwrap_or_default();
        let Some(name) = settings.default_prompt_name else {
            return Ok(());
        };
        let prompts = settings.prompts.unwrap_or_default();
        let Some(Value::String(prompt)) = prompts.get(&name) else {
            let problem =
                format!("its `default_prompt_name` is {name}, which is none of its prompts");
            return Err(refused(&path, problem));
        };
        if !includes_prompt && !prompt.is_empty() {
            let problem = "it leaves the tokens of the prompt out (`include_prompt`), which is not \
                           computed here; take a model that has no default prompt";
            return Err(refused(pooling, problem));
        }
        self.prompt.clone_from(prompt);
        Ok(())
    }

    /// Describes the settings that affect a vector; empty for the default.
    pub(super) fn description(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let names = POOLINGS.iter().filter(|own| self.poolings.contains(&own.0));
        let names: Vec<&str> = names.map(|(_, mode, _)| *mode).collect();
        format!(
            "pooling {}, normalise {}, tokens {}, lower case {}, prompt {}",
            names.join("+"),
            self.normalise,
            self.max_tokens.unwrap_or(0),
            self.lower_case,
            self.prompt
        )
    }
}

/// Names of the folders of modules after the first, such as `2_Dense`, in their order.
fn folder_modules(folder: &Path) -> Vec<String> {
    let is_module = |name: &String| {
        let numbered = name.strip_prefix(|c: char| matches!(c, '1'..='9'));
        let kind = numbered.and_then(|rest| rest.strip_prefix('_'));
        kind.is_some_and(|kind| KNOWN.contains(&kind))
    };
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let names = folders.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(is_module).collect();
    names.sort();
    names
}

/// Reads a JSON file, perhaps with a byte order mark; `None` if it is absent.
fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = foreign::read(path)?;
    let parsed = serde_json::from_slice(foreign::without_mark(&bytes));
    parsed.map(Some).map_err(|error| refused(path, error))
}

fn refused(path: &Path, problem: impl fmt::Display) -> Error {
    let path = path.display();
    Error::encoder(format!("cannot encode as `{path}` says: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_pooled_as_named() {
        let states = [1.0, 8.0, 3.0, 2.0, 5.0, -4.0, 7.0, f32::NAN];
        for (pooling, expected) in [
            (Pooling::First, [1.0, 8.0]),
            (Pooling::Last, [5.0, -4.0]),
            (Pooling::Max, [5.0, 8.0]),
            (Pooling::Mean, [3.0, 2.0]),
            (Pooling::MeanSqrt, [9.0 / 3f32.sqrt(), 6.0 / 3f32.sqrt()]),
            (Pooling::WeightedMean, [22.0 / 6.0, 0.0]),
        ] {
            let mut out = [f32::NAN; 2];
            pooling.pool(&states[..6], &mut out);
            assert_eq!(out, expected, "{pooling:?}");
            pooling.pool(&states, &mut out);
            assert_eq!(out[1].is_nan(), pooling != Pooling::First, "{pooling:?}");
        }
    }
}
