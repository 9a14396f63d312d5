//! The crowd: visitors that come, wait, shop, go, and come again.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tracing::debug;
use vestibule_core::VisitorState;

use super::habits::{Ending, Habits, Mind, Patience, Plan};
use super::queue::ACTIVE_TTL;
use super::visitor::{Sight, Visitor, connections};

/// Has a crowd come to the gate, again and again. Ends never; dropped, it takes its visitors along.
pub(super) async fn gather(gate: SocketAddr, crowd: u64, quota: u64, seed: u64, habits: Habits) {
    let connections = connections();
    let elsewhere = habits.share_elsewhere(crowd, quota, ACTIVE_TTL as f64);
    let mut visitors = JoinSet::new();
    for number in 0..crowd {
        let mut mind = Mind::new(habits.clone(), seed, number);
        let visitor = Visitor::new(connections.clone(), gate);
        // The first find the shop empty; the others come while these are in it.
        let (arrival, plan) = if number < quota {
            (Duration::ZERO, mind.plan_under_way())
        } else {
            (mind.first_arrival(elsewhere), mind.plan())
        };
        visitors.spawn(come_and_go(visitor, mind, arrival, plan));
    }
    while visitors.join_next().await.is_some() {}
}

async fn come_and_go(mut visitor: Visitor, mut mind: Mind, arrival: Duration, mut plan: Plan) {
    sleep(arrival).await;
    loop {
        if let Err(error) = visit(&mut visitor, &plan).await {
            debug!(%error, "a visitor of the crowd gave up");
        }
        visitor.forget();
        sleep(plan.pause).await;
        plan = mind.plan();
    }
}

/// One visit: waits, and once let in, shops.
pub(super) async fn visit(visitor: &mut Visitor, plan: &Plan) -> anyhow::Result<()> {
    if wait(visitor, plan.patience).await? { shop(visitor, plan).await } else { Ok(()) }
}

/// Stands in line as a queue page does. Says whether the visitor got in.
pub(super) async fn wait(visitor: &mut Visitor, patience: Patience) -> anyhow::Result<bool> {
    let mut temper = Temper::of(patience);
    let mut sight = visitor.open("/").await?;
    while let Sight::Line { again } = sight {
        if temper.snaps_within(again) {
            sleep(temper.left()).await;
            visitor.close().await?;
            let Patience::LooksAway { during, .. } = patience else { return Ok(false) };
            sleep(during).await;
            temper = Temper::of(Patience::StayCounts);
            sight = visitor.open("/").await?;
        } else {
            sleep(again).await;
            sight = look(visitor).await?;
        }
    }
    Ok(true)
}

/// Asks for the visitor status, and goes in if it is time.
async fn look(visitor: &mut Visitor) -> anyhow::Result<Sight> {
    let visitor_status = visitor.visitor_status().await?;
    match visitor_status.state {
        VisitorState::Admitted => visitor.open("/").await,
        _ => Ok(Sight::Line { again: Duration::from_secs(visitor_status.poll_after) }),
    }
}

/// When a visitor closes the queue page, if ever.
struct Temper(Option<Instant>);

impl Temper {
    fn of(patience: Patience) -> Self {
        match patience {
            Patience::StayCounts => Self(None),
            Patience::LooksAway { after, .. } | Patience::GivesUp { after } => Self(Some(Instant::now() + after)),
        }
    }

    fn left(&self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    fn snaps_within(&self, time: Duration) -> bool {
        self.left() <= time
    }
}

/// Looks at the dates, chooses, and ends as planned.
async fn shop(visitor: &mut Visitor, plan: &Plan) -> anyhow::Result<()> {
    let look = plan.shopping / 3;
    visitor.keepalive().await?;
    sleep(look).await;
    visitor.open("/tickets?date=2").await?;
    visitor.keepalive().await?;
    sleep(look).await;
    if plan.ending == Ending::Closes {
        return Ok(());
    }
    visitor.open("/checkout?date=2&area=1&count=2").await?;
    visitor.keepalive().await?;
    sleep(look).await;
    if plan.ending == Ending::Buys {
        visitor.buy("/checkout?date=2&area=1&count=2").await?;
    }
    visitor.leave().await
}
