//! The built-in engine: the crate `rten`.

use std::panic;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ::rten::{
    DataType, Dimension, LoadErrorKind, Model, ModelOptions, NodeId, RunErrorKind, RunOptions,
    ThreadPool, ValueType, ValueView,
};

use super::{Batch, Engine, HiddenStates, check_axes, token_output, wants_token_types};

const TRY_OTHER: &str = "ONNX Runtime may run it: name its library with ⟨onnxruntime⟩";

pub(super) struct RtenEngine {
    model: Model,
    input_ids: NodeId,
    attention_mask: NodeId,
    token_type_ids: Option<NodeId>,
    output: NodeId,
    /// Idle thread pools of one thread each.
    idle: Mutex<Vec<Arc<ThreadPool>>>,
}

impl RtenEngine {
    pub(super) const NAME: &str = "rten (built in)";

    pub(super) fn load(model: Vec<u8>) -> Result<Self, String> {
        // Weights are laid out for products once, not in every run, at the cost of a second copy in
        // memory.
        let load = || {
            ModelOptions::with_all_ops()
                .prepack_weights(true)
                .load(model)
        };
        let model = panic::catch_unwind(load)
            .map_err(|_| "the engine cannot read it".to_owned())?
            .map_err(|error| match error.kind() {
                LoadErrorKind::OperatorInvalid => format!("{error}; {TRY_OTHER}"),
                _ => error.to_string(),
            })?;
        let name = |id: &NodeId| {
            let info = model.node_info(*id);
            info.and_then(|info| info.name()).unwrap_or_default()
        };
        let inputs: Vec<_> = model.input_ids().iter().map(name).collect();
        let token_types = wants_token_types(&inputs)?;
        for id in model.input_ids() {
            let shape = model.node_info(*id).and_then(|info| info.shape());
            let size = |axis: &Dimension| match axis {
                Dimension::Fixed(size) => Some(*size),
                Dimension::Symbolic(_) => None,
            };
            check_axes(&shape.iter().flatten().map(size).collect::<Vec<_>>())?;
        }
        let outputs = model.output_ids().iter();
        let outputs = outputs.map(|id| (name(id), float_rank(&model, *id)));
        let outputs: Vec<_> = outputs.collect();
        let output = model.output_ids()[token_output(&outputs)?];
        let input = |name| model.node_id(name).map_err(|error| error.to_string());
        Ok(Self {
            input_ids: input("input_ids")?,
            attention_mask: input("attention_mask")?,
            token_type_ids: token_types.then(|| input("token_type_ids")).transpose()?,
            output,
            idle: Mutex::default(),
            model,
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Arc<ThreadPool>>> {
        // A panic elsewhere leaves the list of pools intact.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the model on `pool`.
    fn run_on(&self, pool: &Arc<ThreadPool>, batch: &Batch) -> Result<HiddenStates, String> {
        let number = |value: &u32| {
            let number = i32::try_from(*value);
            number.map_err(|_| format!("the token number {value} is too large"))
        };
        let ids: Vec<i32> = batch.ids.iter().map(number).collect::<Result<_, _>>()?;
        let type_ids = batch.type_ids.iter().map(number);
        let type_ids: Vec<i32> = type_ids.collect::<Result<_, _>>()?;
        let mask = vec![1; batch.ids.len()];
        let shape = batch.shape();
        let tensor = |values| ValueView::from_shape(shape, values).expect("one value a token");
        let mut inputs = vec![
            (self.input_ids, tensor(&ids).into()),
            (self.attention_mask, tensor(&mask).into()),
        ];
        if let Some(node) = self.token_type_ids {
            inputs.push((node, tensor(&type_ids).into()));
        }
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
        let output = self.model.run_n(inputs, [self.output], Some(options));
        let [output] = output.map_err(|error| match error.kind() {
            RunErrorKind::OperatorError => format!("{error}; {TRY_OTHER}"),
            _ => error.to_string(),
        })?;
        let (shape, values) = output.into_shape_vec::<f32, 3>().map_err(|error| {
            format!("its output is not a tensor with one vector a token: {error}")
        })?;
        HiddenStates::new(&shape, values, batch)
    }
}

impl Engine for RtenEngine {
    /// Each call has one thread to itself, so sums have one order and calls run in parallel.
    ///
    /// The engine computes in a `rayon` pool. The caller is probably a worker of another pool, and
    /// such a worker starts other work while it waits, so calls would nest without bound. A plain
    /// thread in between only waits; starting it takes some 50 µs.
    fn run(&self, batch: &Batch) -> Result<HiddenStates, String> {
        let pool = self.idle().pop();
        let pool = pool.unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)));
        let result = thread::scope(|scope| {
            thread::Builder::new()
                .spawn_scoped(scope, || self.run_on(&pool, batch))
                .map_err(|error| format!("no thread to run it on: {error}"))?
                .join()
                .map_err(|_| format!("the engine failed inside; {TRY_OTHER}"))?
        });
        self.idle().push(pool);
        result
    }
}

/// The rank of an output that is declared to hold floats.
fn float_rank(model: &Model, id: NodeId) -> Option<usize> {
    let info = model.node_info(id)?;
    let floats = info.dtype() == Some(ValueType::Tensor(DataType::Float));
    info.shape().filter(|_| floats).map(|shape| shape.len())
}
