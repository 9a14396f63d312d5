//! The client of a request.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use http::request::Parts;
use vestibule_runtime::{ClientAddressSource, PeerAddress, request_origin};

use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::Admin;

/// The client of a request.
pub(crate) struct ClientInfo {
    address: Option<IpAddr>,
    https: bool,
    request: RequestId,
}

impl ClientInfo {
    pub(crate) const fn address(&self) -> Option<IpAddr> {
        self.address
    }

    pub(crate) const fn https(&self) -> bool {
        self.https
    }

    /// The id of the request.
    pub(crate) fn request(&self) -> &str {
        &self.request.0
    }
}

impl FromRequestParts<Admin> for ClientInfo {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, admin: &Admin) -> Result<Self, Problem> {
        let peer = parts.extensions.get::<PeerAddress>().and_then(|peer| peer.0);
        let origin = request_origin(&parts.headers, peer, admin.trusted_proxies, &ClientAddressSource::default());
        let request = RequestId::in_extensions(&parts.extensions);
        Ok(Self { address: origin.address, https: origin.https, request })
    }
}
