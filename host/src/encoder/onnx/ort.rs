//! ONNX Runtime, loaded at run time through the crate `ort`.

use std::panic;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ::ort::environment::Environment;
use ::ort::logging::LogLevel;
use ::ort::session::Session;
use ::ort::session::builder::GraphOptimizationLevel;
use ::ort::value::{Outlet, Tensor, TensorElementType, ValueType};

use super::{Batch, Engine, HiddenStates, check_axes, token_output, wants_token_types};
use crate::encoder::{RUNTIME_OLDEST_MINOR, RUNTIME_VARIABLE};
use crate::error::{Error, Result};

const _: () = assert!(RUNTIME_OLDEST_MINOR == ort::MINOR_VERSION);

/// The most sessions of one model. Each holds a copy of the weights, so this bounds memory; further
/// callers wait.
const MAX_SESSIONS: usize = 16;

pub(super) struct OrtEngine {
    environment: Environment,
    /// The bytes that the identity's digest covers, from which every session is made.
    model: Vec<u8>,
    token_types: bool,
    output: String,
    sessions: Mutex<Sessions>,
    returned: Condvar,
}

/// A session runs one call at a time, so there is one for each simultaneous call.
#[derive(Default)]
struct Sessions {
    idle: Vec<Session>,
    made: usize,
}

impl OrtEngine {
    pub(super) const NAME: &str = "ONNX Runtime";

    /// The outer error is about the library, the inner one about the model.
    pub(super) fn load(model: Vec<u8>, library: &Path) -> Result<Result<Self, String>> {
        let environment = environment(library)?;
        Ok(Self::with_environment(environment, model))
    }

    fn with_environment(environment: Environment, model: Vec<u8>) -> Result<Self, String> {
        let session = new_session(&environment, &model)?;
        let inputs: Vec<_> = session.inputs().iter().map(Outlet::name).collect();
        let token_types = wants_token_types(&inputs)?;
        for input in session.inputs() {
            if let ValueType::Tensor { shape, .. } = input.dtype() {
                let sizes = shape.iter().map(|size| usize::try_from(*size).ok());
                check_axes(&sizes.collect::<Vec<_>>())?;
            }
        }
        let outputs = session.outputs().iter();
        let outputs = outputs.map(|output| (output.name(), float_rank(output.dtype())));
        let outputs: Vec<_> = outputs.collect();
        let output = outputs[token_output(&outputs)?].0.to_owned();
        Ok(Self {
            environment,
            model,
            token_types,
            output,
            sessions: Mutex::new(Sessions {
                idle: vec![session],
                made: 1,
            }),
            returned: Condvar::new(),
        })
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        // A panic elsewhere leaves the list of sessions intact.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn borrow_session(&self) -> Result<Borrowed<'_>, String> {
        let is_full =
            |sessions: &mut Sessions| sessions.idle.is_empty() && sessions.made == MAX_SESSIONS;
        let sessions = self.returned.wait_while(self.sessions(), is_full);
        let mut sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        let mut borrowed = Borrowed {
            engine: self,
            session: sessions.idle.pop(),
        };
        if borrowed.session.is_none() {
            sessions.made += 1;
            drop(sessions);
            borrowed.session = Some(new_session(&self.environment, &self.model)?);
        }
        Ok(borrowed)
    }
}

/// Returns its session, or the slot for one, when dropped.
struct Borrowed<'a> {
    engine: &'a OrtEngine,
    session: Option<Session>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let mut sessions = self.engine.sessions();
        match self.session.take() {
            Some(session) => sessions.idle.push(session),
            None => sessions.made -= 1,
        }
        self.engine.returned.notify_one();
    }
}

impl Engine for OrtEngine {
    fn run(&self, batch: &Batch) -> Result<HiddenStates, String> {
        let tensor = |values: Vec<i64>| Tensor::from_array((batch.shape(), values));
        let numbers = |values: &[u32]| values.iter().copied().map(i64::from).collect();
        let run = |session: &mut Session| -> ort::Result<_> {
            let mut inputs = ort::inputs![
                "input_ids" => tensor(numbers(&batch.ids))?,
                "attention_mask" => tensor(vec![1; batch.ids.len()])?,
            ];
            if self.token_types {
                inputs.push((
                    "token_type_ids".into(),
                    tensor(numbers(&batch.type_ids))?.into(),
                ));
            }
            let outputs = session.run(inputs)?;
            let (shape, values) = outputs[self.output.as_str()].try_extract_tensor::<f32>()?;
            let shape: Vec<_> = shape.iter().map(|&size| size as usize).collect();
            Ok((shape, values.to_vec()))
        };
        let mut borrowed = self.borrow_session()?;
        let session = borrowed.session.as_mut().expect("present until dropped");
        let (shape, values) = run(session).map_err(|error| error.to_string())?;
        HiddenStates::new(&shape, values, batch)
    }
}

/// Creates a session that computes on the calling thread, so that sums have one order and calls run
/// in parallel.
fn new_session(environment: &Environment, model: &[u8]) -> Result<Session, String> {
    // The builder's errors hold the builder, which is not `Send`.
    let text = |error: ort::Error<_>| error.to_string();
    Session::builder(environment)
        .map_err(|error| error.to_string())?
        .with_optimization_level(GraphOptimizationLevel::All)
        .map_err(text)?
        .with_intra_threads(1)
        .map_err(text)?
        // Errors are returned; the library would print them as well.
        .with_log_level(LogLevel::Fatal)
        .map_err(text)?
        .commit_from_memory(model)
        .map_err(|error| error.to_string())
}

fn float_rank(kind: &ValueType) -> Option<usize> {
    match kind {
        ValueType::Tensor { ty, shape, .. } if *ty == TensorElementType::Float32 => {
            Some(shape.len())
        }
        _ => None,
    }
}

/// Loads the library and starts its environment. Both stay until the process ends.
fn environment(library: &Path) -> Result<Environment> {
    static LOADED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

    let unusable = |problem: String| {
        Error::encoder(format!(
            "cannot use ONNX Runtime from `{}` (named by ⟨onnxruntime⟩ or {}): \
             {problem}; wanted is the shared library of ONNX Runtime 1.{} or newer; \
             without that and the variable the built-in engine is used",
            library.display(),
            RUNTIME_VARIABLE,
            RUNTIME_OLDEST_MINOR
        ))
    };
    // Loading a pipe would block, and a bare name would be searched in folders that differ by
    // system and program.
    let path = library.canonicalize();
    let path = path.map_err(|error| unusable(error.to_string()))?;
    if !path.is_file() {
        return Err(unusable("it is not a file".to_owned()));
    }
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*loaded {
        Some((first, environment)) if *first == path => Ok(environment.clone()),
        Some((first, _)) => Err(unusable(format!(
            "this process already uses `{}`, and can load one library only",
            first.display()
        ))),
        None => {
            // `ort` panics on a library with the right version but without the functions.
            let environment = panic::catch_unwind(|| {
                ort::init_from(&path)
                    .map_err(|error| error.to_string())?
                    .with_telemetry(false)
                    .build()
                    .map_err(|error| error.to_string())
            })
            .unwrap_or_else(|_| Err("it does not behave like ONNX Runtime".to_owned()))
            .map_err(unusable)?;
            Ok(loaded.insert((path, environment)).1.clone())
        }
    }
}
