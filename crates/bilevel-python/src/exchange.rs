//! Ranks of MPI: an exchange through a communicator of Python, such as those of mpi4py.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bilevel::{BoxError, Exchange, Ranks};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::invalid;

type Gathered = Result<Vec<Vec<f64>>, BoxError>;
/// The numbers of this rank, and the way back for those of all ranks.
type Request = (Vec<f64>, Sender<Gathered>);

/// An exchange between ranks, by the method `gather` of a Python object.
pub(crate) struct PyExchange {
    object: Py<PyAny>,
    /// The way to the thread that has called [`serve`](Self::serve), while it serves.
    desk: Mutex<Option<Sender<Request>>>,
    /// The first exception of the Python object.
    failure: Mutex<Option<PyErr>>,
}

impl PyExchange {
    fn desk(&self) -> MutexGuard<'_, Option<Sender<Request>>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the Python object.
    fn call(&self, own: &[f64]) -> Gathered {
        let gathered = Python::attach(|py| {
            let own = PyArray1::from_slice(py, own);
            let all = self.object.bind(py).call_method1("gather", (own,))?;
            let all: Vec<PyReadonlyArray1<'_, f64>> = all.extract()?;
            all.iter()
                .map(|numbers| Ok(numbers.to_vec()?))
                .collect::<PyResult<_>>()
        });
        gathered.map_err(|error| {
            let text = error.to_string();
            self.failure().get_or_insert(error);
            text.into()
        })
    }

    /// Does some work on a pool of threads. This thread calls Python for it meanwhile, because many
    /// implementations of MPI want all calls from the thread that has started it.
    fn serve<T: Send>(&self, pool: &ThreadPool, work: impl FnOnce() -> T + Send) -> Option<T> {
        struct Closing<'a>(&'a PyExchange);
        impl Drop for Closing<'_> {
            fn drop(&mut self) {
                *self.0.desk() = None;
            }
        }
        let (sender, requests) = channel::<Request>();
        *self.desk() = Some(sender);
        let mut done = None;
        pool.in_place_scope(|scope| {
            scope.spawn(|_| {
                let _closing = Closing(self);
                done = Some(work());
            });
            for (own, reply) in requests {
                // a receiver that is gone needs no answer
                let _ = reply.send(self.call(&own));
            }
        });
        done
    }
}

impl Exchange for PyExchange {
    fn gather(&self, own: &[f64]) -> Gathered {
        let desk = self.desk().clone();
        let Some(desk) = desk else {
            return self.call(own);
        };
        let (reply, answer) = channel();
        desk.send((own.to_vec(), reply))?;
        answer.recv()?
    }
}

/// The ranks that work on a run; a single one unless Python has passed others.
#[derive(Default)]
pub(crate) struct PyRanks {
    pub(crate) ranks: Ranks,
    exchange: Option<Arc<PyExchange>>,
}

impl PyRanks {
    /// Returns the ranks of a Python object with the number `rank` and the method `gather`, which
    /// takes an array and returns those of all ranks.
    pub(crate) fn new(object: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(object) = object else {
            return Ok(Self::default());
        };
        let rank: usize = object.getattr("rank")?.extract()?;
        let exchange = Arc::new(PyExchange {
            object: object.unbind(),
            desk: Mutex::new(None),
            failure: Mutex::new(None),
        });
        Ok(Self {
            ranks: Ranks::new(rank, Arc::clone(&exchange) as Arc<dyn Exchange>),
            exchange: Some(exchange),
        })
    }

    /// Does some work on a pool of threads, without holding Python's lock.
    pub(crate) fn work<T: Send>(
        &self,
        py: Python<'_>,
        pool: &ThreadPool,
        work: impl FnOnce() -> T + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| match &self.exchange {
            None => Some(pool.install(work)),
            Some(exchange) => exchange.serve(pool, work),
        });
        self.raise()?;
        done.ok_or_else(|| invalid("a thread has ended early"))
    }

    /// Raises the exception of an exchange, if there was one.
    pub(crate) fn raise(&self) -> PyResult<()> {
        let failure = (self.exchange.as_ref()).and_then(|exchange| exchange.failure().take());
        failure.map_or(Ok(()), Err)
    }

    /// Returns the value of this rank, or the first error of all ranks.
    pub(crate) fn agree<T>(&self, own: PyResult<T>) -> PyResult<T> {
        let text = |error: &PyErr| Python::attach(|py| error.value(py).to_string());
        let reason = own.as_ref().err().map(text);
        let failure = self.ranks.first_failure(reason.as_deref());
        self.raise()?;
        match (own, failure.map_err(invalid)?) {
            (Ok(_), Some((rank, reason))) => Err(invalid(format!("rank {rank}: {reason}"))),
            (own, _) => own,
        }
    }
}
