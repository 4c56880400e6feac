//! A load run: its plan checked, its endpoint reached, its steps climbed, its record sealed.
//!
//! Two threads share the work. The job's own thread runs one event loop that does nothing but send, read and take the
//! time; the keeper's thread writes, counts and tells. Between them goes a queue that never makes the first one wait.

mod flight;
mod health;
mod keeper;
mod ladder;
mod prompts;

use std::sync::{Arc, mpsc};
use std::time::Instant;

use tokio::sync::mpsc as tokio_mpsc;
use tokio_util::sync::CancellationToken;

use super::endpoint::{Endpoint, Url};
use super::event::{Outcome, What};
use super::job::{JobCtx, LoadRoute, LoadSpec};
use super::part::{Gathered, Header, Line, Writer};
use super::{clock, host, practice};
use crate::domain::evidence::{Kind, Sealed};
use crate::domain::failure::{Failure, FailureKind};
use crate::domain::load::{GpuSample, RunEnd};

use flight::{Gauges, Shared};
use keeper::{Keeper, Kept, Live};
use prompts::Source;

/// GPU samples waiting for the keeper.
const GPU_QUEUE: usize = 256;

/// What the measuring thread tells the keeper.
enum Note {
    /// The warm-up is over, s since the start of the run.
    MeasuringBegins { at: f64 },
    /// How late the loop was, µs.
    Lag(u32),
    /// A request of a rate-driven run was sent.
    Sent { at: f64, lateness_secs: f64 },
    /// A request got its first token.
    First { at: f64, ttft_secs: f64 },
    /// A line of the part file.
    Line(Line),
    /// Nothing follows.
    Over,
}

/// Runs a load test to its end and emits its steps and its sealed record. Cancelling keeps what was measured.
///
/// The part file of the run then stands beside the record as `<id>.part`; whoever keeps the record removes it.
pub(super) fn run(ctx: &JobCtx, spec: LoadSpec) -> Outcome {
    match try_run(ctx, spec) {
        Ok(outcome) => outcome,
        Err(failure) => Outcome::Failed(failure),
    }
}

fn try_run(ctx: &JobCtx, mut spec: LoadSpec) -> Result<Outcome, Failure> {
    prompts::check(&spec.plan)?;
    let source = Source::new(&mut spec.plan, spec.prompts_path.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(internal)?;
    let reached = runtime.block_on(reach(ctx, &mut spec))?;
    let Some((endpoint, route)) = reached else { return Ok(Outcome::Cancelled) };
    let header = Header {
        program: concat!("leasebench ", env!("CARGO_PKG_VERSION")).to_owned(),
        kind: if matches!(spec.route, LoadRoute::Practice) { Kind::Practice } else { spec.stamp.kind },
        candidate: spec.stamp.candidate.clone(),
        host: spec.stamp.host.clone(),
        vantage: spec.vantage,
        brief_digest: spec.stamp.brief_digest.clone(),
        began_at: clock::now().wall,
        plan: spec.plan.clone(),
    };
    let part = match &spec.part_folder {
        Some(folder) => Some(
            Writer::create(folder, &header)
                .map_err(|error| Failure::new(FailureKind::EvidenceUnwritable).because(error).at(folder.display()))?,
        ),
        None => None,
    };
    let (kept, ended) = measure(ctx, &runtime, spec, endpoint, source, header, part)?;
    drop(route);
    seal(ctx, kept, ended)
}

/// What must stay open while the run goes on.
enum Route {
    Direct,
    Practice(#[allow(dead_code, reason = "the server stops when this is dropped")] practice::Server),
    Tunnel(#[allow(dead_code, reason = "the tunnel closes when this is dropped")] host::Tunnel),
}

/// Opens the way to the endpoint; `None` when cancelled meanwhile.
async fn reach(ctx: &JobCtx, spec: &mut LoadSpec) -> Result<Option<(Endpoint, Route)>, Failure> {
    let opened = async {
        let (route, address) = match &spec.route {
            LoadRoute::Direct => (Route::Direct, spec.plan.base_url.clone()),
            LoadRoute::Practice => {
                let server = practice::Server::start(0, practice::Settings::lesson(), None)?;
                spec.plan.base_url = format!("http://{}", server.address());
                (Route::Practice(server), spec.plan.base_url.clone())
            }
            LoadRoute::Tunnel { target, host, port } => {
                let tunnel = host::Tunnel::open(&ctx.ssh, &ctx.cancel, host, target, *port).await?;
                // The record keeps the address as it was planned: the local end is another one in every run.
                let address = through_tunnel(&spec.plan.base_url, tunnel.local_port());
                (Route::Tunnel(tunnel), address)
            }
        };
        let url = Url::parse(&address, spec.plan.api)?;
        Ok((Endpoint::resolve(url).await?, route))
    };
    tokio::select! {
        biased;
        () = ctx.cancel.cancelled() => Ok(None),
        opened = opened => opened.map(Some),
    }
}

/// The base URL with its host and port replaced by the local end of the tunnel. What is written after them stays.
fn through_tunnel(base_url: &str, local_port: u16) -> String {
    let (scheme, rest) = base_url.trim().split_once("://").unwrap_or(("http", base_url.trim()));
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default();
    format!("{scheme}://127.0.0.1:{local_port}{path}")
}

/// Runs the loop on this thread and the keeper beside it.
fn measure(
    ctx: &JobCtx,
    runtime: &tokio::runtime::Runtime,
    spec: LoadSpec,
    endpoint: Endpoint,
    source: Source,
    header: Header,
    part: Option<Writer>,
) -> Result<(Kept, RunEnd), Failure> {
    let origin = Instant::now();
    let gauges = Arc::new(Gauges::default());
    let (notes, notes_inbox) = mpsc::channel();
    let (gpu, gpu_inbox) = tokio_mpsc::channel::<GpuSample>(GPU_QUEUE);
    // Dropped at the end, which ends the sampler however this function is left.
    let sampling = CancellationToken::new();
    let _stop_sampling = sampling.clone().drop_guard();
    let sampler = match &spec.sample_on {
        Some(host) => Some(host::spawn_sampler(&ctx.ssh, host, origin, sampling, gpu).map_err(internal)?),
        None => None,
    };
    let keeper = Keeper {
        ctx,
        notes: notes_inbox,
        gpu: gpu_inbox,
        gauges: Arc::clone(&gauges),
        origin,
        gathered: Gathered::new(header),
        part,
        live: Live::default(),
    };
    let shared = Arc::new(Shared::new(spec.plan, endpoint, source, spec.api_key, notes, gauges, origin));
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("keeper".to_owned())
            .spawn_scoped(scope, move || keeper.run())
            .map_err(internal)?;
        let ended = runtime.block_on(ladder::climb(&shared, &ctx.cancel));
        shared.note(Note::Over);
        thread.thread().unpark();
        let mut kept = thread.join().map_err(|_panic| Failure::new(FailureKind::Internal).because("keeper"))?;
        // One that still samples is not waited for. Without samples the run counts all the same, and says why.
        if let Some(sampler) = sampler.filter(std::thread::JoinHandle::is_finished)
            && let Ok(Err(failure)) = sampler.join()
        {
            kept.add(Line::GpuGap(failure.kind));
        }
        Ok((kept, ended))
    })
}

/// Seals what was gathered and hands it over.
fn seal(ctx: &JobCtx, mut kept: Kept, ended: RunEnd) -> Result<Outcome, Failure> {
    let at = clock::now().wall;
    kept.add(keeper::last_line(&kept, ended, at));
    let sealed = Sealed::seal(kept.gathered.record()).map_err(internal)?;
    if let Some(part) = &kept.part {
        // Under its old name it would be sealed again, to the same record: nothing is lost.
        part.rename_after(&sealed).ok();
    }
    ctx.emit_blocking(What::Sealed(Box::new(sealed)));
    match kept.unwritten {
        Some(failure) => Err(failure),
        None => Ok(if ended == RunEnd::Stopped { Outcome::Cancelled } else { Outcome::Done }),
    }
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Internal).because(error)
}
