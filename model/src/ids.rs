//! Names of things: one newtype for each kind of id, so that a link is never taken for a port.
//! Nothing here knows how an id is obtained (identity.rs) or what it names.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($repr:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            /// The number as an index into a slice.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A GPU within its tray, from 0 (the NVML index and the minor number of its node).
    GpuIndex(u8)
);
id!(
    /// A compute tray within its rack, from 0, in the order of the rack file.
    TrayIndex(u16)
);
id!(
    /// An NVLink of one GPU, from 0.
    LinkIndex(u8)
);
id!(
    /// An NVSwitch chip within the domain, from 0; chip `n` sits on switch tray `n / chips per tray`.
    SwitchIndex(u16)
);
id!(
    /// A port of one NVSwitch chip, from 0.
    PortIndex(u16)
);
id!(
    /// The clique NVML reports beside the cluster UUID; 0 = none.
    CliqueId(u32)
);
id!(
    /// An InfiniBand adapter within its tray, from 0 (mlx5_0 ...).
    HcaIndex(u8)
);

/// An NVLink partition of the domain: 1..=32766, where 32766 is the default partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PartitionId(u16);

impl PartitionId {
    /// The partition every GPU starts in.
    pub const DEFAULT: Self = Self(32766);
    /// The greatest id a user can give.
    pub const LAST_USER: Self = Self(32765);

    /// `None` outside 1..=32766.
    #[must_use]
    pub const fn new(id: u16) -> Option<Self> {
        if id >= 1 && id <= Self::DEFAULT.0 { Some(Self(id)) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Whether this is the partition that always exists.
    #[must_use]
    pub const fn is_default(self) -> bool {
        self.0 == Self::DEFAULT.0
    }
}

impl Default for PartitionId {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for PartitionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = u16::deserialize(deserializer)?;
        Self::new(id).ok_or_else(|| de::Error::custom(format!("partition id {id}: expected 1 to 32766")))
    }
}

/// One GPU of the domain: tray and index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuLocation {
    /// The tray.
    pub tray: TrayIndex,
    /// The GPU in that tray.
    pub gpu: GpuIndex,
}

impl fmt::Display for GpuLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tray {} gpu {}", self.tray, self.gpu)
    }
}

/// One port of the domain's switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortRef {
    /// The switch chip.
    pub switch: SwitchIndex,
    /// The port on it.
    pub port: PortIndex,
}

impl fmt::Display for PortRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "switch {} port {}", self.switch, self.port)
    }
}

/// Sixteen bytes, written 8-4-4-4-12 in lower case.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, byte) in self.0.iter().enumerate() {
            if matches!(place, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a UUID.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a UUID: expected 8-4-4-4-12 hexadecimal digits")]
pub struct NotAUuid(pub String);

impl FromStr for Uuid {
    type Err = NotAUuid;

    fn from_str(text: &str) -> Result<Self, NotAUuid> {
        let refused = || NotAUuid(text.to_owned());
        let groups: Vec<&str> = text.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        let digits = groups.concat();
        if lengths != [8, 4, 4, 4, 12] || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(refused());
        }
        let number = u128::from_str_radix(&digits, 16).map_err(|_| refused())?;
        Ok(Self(number.to_be_bytes()))
    }
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// A PCI address, `dddd:bb:dd.f` (a domain of eight digits is read too).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BusId {
    /// PCI domain (segment).
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device (slot on the bus).
    pub device: u8,
    /// Function, 0 to 7.
    pub function: u8,
}

/// The text is not a PCI address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a PCI address: expected domain:bus:device.function in hexadecimal, such as 0008:01:00.0")]
pub struct NotABusId(pub String);

impl fmt::Display for BusId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, bus, device, function } = self;
        write!(f, "{domain:04x}:{bus:02x}:{device:02x}.{function}")
    }
}

impl FromStr for BusId {
    type Err = NotABusId;

    fn from_str(text: &str) -> Result<Self, NotABusId> {
        parse_bus_id(text).ok_or_else(|| NotABusId(text.to_owned()))
    }
}

fn parse_bus_id(text: &str) -> Option<BusId> {
    let (address, function) = text.split_once('.')?;
    let mut parts = address.split(':');
    let (domain, bus, device) = (parts.next()?, parts.next()?, parts.next()?);
    let plain = [domain, bus, device, function].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if parts.next().is_some() || !plain {
        return None;
    }
    let id = BusId {
        domain: u32::from_str_radix(domain, 16).ok()?,
        bus: u8::from_str_radix(bus, 16).ok()?,
        device: u8::from_str_radix(device, 16).ok()?,
        function: u8::from_str_radix(function, 16).ok()?,
    };
    (id.device < 32 && id.function < 8).then_some(id)
}

impl Serialize for BusId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BusId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_reads_back_what_it_wrote() {
        let uuid = Uuid([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255]);
        assert_eq!(uuid.to_string(), "01020304-0506-0708-090a-0b0c0d0e0fff");
        assert_eq!(uuid.to_string().parse(), Ok(uuid));
        for bad in ["", "0102", "0102030405060708090a0b0c0d0e0fff", "+1020304-0506-0708-090a-0b0c0d0e0fff"] {
            assert!(bad.parse::<Uuid>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bus_id_of_either_width_reads_the_same() {
        let id: BusId = "0008:01:00.0".parse().unwrap();
        assert_eq!("00000008:01:00.0".parse(), Ok(id));
        assert_eq!(id.to_string(), "0008:01:00.0");
        for bad in ["", "08:01", "0008:01:00", "0008:01:20.0", "0008:01:00.9", "g:0:0.0"] {
            assert!(bad.parse::<BusId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_partition_id_outside_its_range_is_refused() {
        assert!(PartitionId::new(0).is_none());
        assert!(PartitionId::new(32767).is_none());
        assert!(PartitionId::new(32766).unwrap().is_default());
        assert!(serde_json::from_str::<PartitionId>("0").is_err());
    }
}
