//! The sample shop: the site behind the gate. Nothing is really sold.

use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use axum::routing::{MethodRouter, get};
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use tokio::time::sleep;

const LAYOUT: &str = include_str!("shop/layout.html");
const KEEPALIVE: &str = include_str!("shop/keepalive.html");
const LEAVE: &str = include_str!("shop/leave.html");
const STYLE: &str = include_str!("shop/shop.css");
const SCRIPT: &str = include_str!("shop/shop.js");
const ICON: &str = include_str!("shop/icon.svg");

const DATES: [&str; 4] =
    ["Thursday 4 June, 19:00", "Friday 5 June, 19:00", "Saturday 6 June, 18:00", "Sunday 7 June, 17:00"];
/// Names of the areas, and their prices in euros.
const AREAS: [(&str, usize); 3] = [("Standing", 38), ("Balcony", 46), ("Stalls", 52)];
/// Maximum number of tickets of an order.
const COUNT_MAX: usize = 6;
/// How long the shop processes an order: at least this long, and up to the spread longer.
const PROCESSING_MIN: Duration = Duration::from_secs(1);
const PROCESSING_SPREAD: Duration = Duration::from_secs(1);
/// One order in this many finds the shop busy.
const BUSY_ONE_IN: u32 = 10;

/// A page of the shop.
#[derive(Clone, Copy)]
struct Page {
    title: &'static str,
    main: &'static str,
    /// Whether only active visitors see it: it renews the session and has a button to leave.
    active: bool,
}

const EVENT: Page = Page { title: "Nine Lighthouses", main: include_str!("shop/event.html"), active: true };
const TICKETS: Page = Page { title: "Choose tickets", main: include_str!("shop/tickets.html"), active: true };
const CHECKOUT: Page = Page { title: "Checkout", main: include_str!("shop/checkout.html"), active: true };
const THANKS: Page = Page { title: "Thank you", main: include_str!("shop/thanks.html"), active: false };
const GOODBYE: Page = Page { title: "Goodbye", main: include_str!("shop/goodbye.html"), active: false };

/// Paths that bypass the queue.
pub(super) const FREE_PATHS: [&str; 4] = ["/assets/**", "/favicon.ico", "/thanks", "/goodbye"];

/// The configuration of the shop.
#[derive(Clone, Copy)]
struct Shop {
    /// The quota, for display.
    quota: u64,
}

/// The shop as a site.
pub(super) fn shop(quota: u64) -> Router {
    Router::new()
        .route("/", show(EVENT))
        .route("/tickets", show(TICKETS))
        .route("/checkout", show(CHECKOUT).post(buy))
        .route("/thanks", show(THANKS))
        .route("/goodbye", show(GOODBYE))
        .route("/assets/shop.css", asset("text/css; charset=utf-8", STYLE))
        .route("/assets/shop.js", asset("text/javascript; charset=utf-8", SCRIPT))
        .route("/favicon.ico", asset("image/svg+xml", ICON))
        .with_state(Shop { quota })
}

fn show(page: Page) -> MethodRouter<Shop> {
    get(move |State(shop): State<Shop>, RawQuery(query): RawQuery| async move {
        ([(CACHE_CONTROL, "private, no-cache")], Html(render(page, shop, Order::of(query.as_deref()))))
    })
}

/// Takes as long as a shop that books seats and collects a payment. One order in ten is not processed and comes again.
async fn buy(RawQuery(query): RawQuery) -> Response {
    let random = getrandom::u32().unwrap_or_default();
    sleep(PROCESSING_MIN + PROCESSING_SPREAD.mul_f64(f64::from(random) / f64::from(u32::MAX))).await;
    if random.is_multiple_of(BUSY_ONE_IN) {
        return (StatusCode::SERVICE_UNAVAILABLE, "The shop is busy.").into_response();
    }
    let order = Order::of(query.as_deref());
    Redirect::to(&format!("/thanks?date={}&area={}&count={}", order.date, order.area, order.count)).into_response()
}

fn asset(content_type: &'static str, text: &'static str) -> MethodRouter<Shop> {
    get(move || async move { ([(CONTENT_TYPE, content_type), (CACHE_CONTROL, "public, max-age=60")], text) })
}

/// An order: date and area by number from 1, and the number of tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Order {
    date: usize,
    area: usize,
    count: usize,
}

impl Order {
    /// Parses a query; invalid values get defaults.
    fn of(query: Option<&str>) -> Self {
        let number = |name: &str, most: usize, usual: usize| {
            let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
            let found = pairs.filter(|(found, _)| *found == name).find_map(|(_, value)| value.parse().ok());
            found.filter(|number| (1..=most).contains(number)).unwrap_or(usual)
        };
        Self {
            date: number("date", DATES.len(), 1),
            area: number("area", AREAS.len(), 1),
            count: number("count", COUNT_MAX, 2),
        }
    }

    fn fill(self, text: &str) -> String {
        let (area, price) = AREAS[self.area - 1];
        text.replace("{{date}}", &self.date.to_string())
            .replace("{{date_name}}", DATES[self.date - 1])
            .replace("{{area}}", &self.area.to_string())
            .replace("{{area_name}}", area)
            .replace("{{price}}", &price.to_string())
            .replace("{{count}}", &self.count.to_string())
            .replace("{{total}}", &(price * self.count).to_string())
    }
}

fn render(page: Page, shop: Shop, order: Order) -> String {
    let if_active = |part: &'static str| if page.active { part } else { "" };
    let html = LAYOUT
        .replace("{{title}}", page.title)
        .replace("{{keepalive}}", if_active(KEEPALIVE))
        .replace("{{leave}}", if_active(LEAVE))
        .replace("{{quota}}", &shop.quota.to_string())
        .replace("{{main}}", page.main);
    order.fill(&html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_orders_get_defaults() {
        assert_eq!(Order::of(Some("date=3&area=2&count=4")), Order { date: 3, area: 2, count: 4 });
        let usual = Order { date: 1, area: 1, count: 2 };
        for query in [None, Some(""), Some("date=9&area=0&count=-1"), Some("date=<b>&count=7"), Some("date")] {
            assert_eq!(Order::of(query), usual, "{query:?}");
        }
    }

    #[test]
    fn pages_are_complete_and_have_no_external_links() {
        let order = Order { date: 4, area: 3, count: 2 };
        for page in [EVENT, TICKETS, CHECKOUT, THANKS, GOODBYE] {
            let html = render(page, Shop { quota: 20 }, order);
            assert!(!html.contains("{{"), "{html}");
            assert_eq!(html.contains("keepalive.js"), page.active, "{html}");
            assert!(!html.replace("http://www.w3.org/2000/svg", "").contains("://"), "{html}");
        }
        assert!(render(CHECKOUT, Shop { quota: 20 }, order).contains("€104"));
    }
}
