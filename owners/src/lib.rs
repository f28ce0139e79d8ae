//! The owners' protocol: how a BMC and the fabric assert the facts they own and observe a tray. Carries the model's
//! changes and events; it decides about none of them, and knows neither Redfish nor NVLink controllers.
//!
//! - [`proto`]: the messages, from `proto/owner.proto`
//! - [`server`]: the tray's side: sessions become [`server::Request`]s on a channel of the tray's choice
//! - [`client`]: the owner's side: dials, asserts after every reconnect, sends changes, hands on what the tray says

pub mod client;
pub mod server;

/// The messages, generated at build time.
pub mod proto {
    tonic::include_proto!("ghostrack.owner.v1");
}
