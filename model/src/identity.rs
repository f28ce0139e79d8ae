//! Who a GPU, tray or domain is: UUIDs, serials and GUIDs derived from the rack's seed and the position in it.
//! Nothing here is random, and nothing is read from the machine it runs on: two starts give the same rack.

use serde::{Deserialize, Serialize};

use crate::ids::{GpuIndex, HcaIndex, SwitchIndex, TrayIndex, Uuid};

/// What tells one GPU from every other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuIdentity {
    /// Without the `GPU-` prefix; shaped as a version 4 UUID.
    pub uuid: Uuid,
    /// Thirteen digits, the same for the two GPUs of a superchip (oracle capture).
    pub serial: String,
    /// The per-device identifier, unique in the rack.
    pub pdi: u64,
    /// The GUID the NVLink fabric knows the GPU by.
    pub fabric_guid: u64,
}

/// What tells one tray from every other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrayIdentity {
    /// Serial of the compute board, thirteen digits.
    pub board_serial: String,
    /// Serial of the rack's chassis, thirteen digits, the same for every tray.
    pub chassis_serial: String,
    /// The system UUID (Redfish `UUID`, SMBIOS).
    pub system_uuid: Uuid,
}

/// The seed of a rack and everything that follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed(pub u64);

/// Kinds of derived numbers: each is its own stream, so that adding one moves no other.
#[derive(Clone, Copy)]
enum Kind {
    GpuUuid = 1,
    GpuSerial = 2,
    Pdi = 3,
    FabricGuid = 4,
    BoardSerial = 5,
    ChassisSerial = 6,
    SystemUuid = 7,
    ClusterUuid = 8,
    HcaGuid = 9,
    SwitchGuid = 10,
    Variation = 11,
    SwitchSerial = 12,
}

impl Seed {
    /// The identity of one GPU; `gpus_per_superchip` GPUs share a serial.
    #[must_use]
    pub fn gpu(self, tray: TrayIndex, gpu: GpuIndex, gpus_per_superchip: u8) -> GpuIdentity {
        let place = position(tray, gpu.0);
        let superchip = position(tray, gpu.0 / gpus_per_superchip.max(1));
        GpuIdentity {
            uuid: self.uuid(Kind::GpuUuid, place),
            serial: self.serial(Kind::GpuSerial, superchip, 165),
            pdi: self.number(Kind::Pdi, place),
            fabric_guid: self.number(Kind::FabricGuid, place),
        }
    }

    /// The identity of one tray.
    #[must_use]
    pub fn tray(self, tray: TrayIndex) -> TrayIdentity {
        let place = position(tray, 0);
        TrayIdentity {
            board_serial: self.serial(Kind::BoardSerial, place, 166),
            chassis_serial: self.serial(Kind::ChassisSerial, 0, 182),
            system_uuid: self.uuid(Kind::SystemUuid, place),
        }
    }

    /// The UUID of the NVLink domain, the same on every tray.
    #[must_use]
    pub fn cluster_uuid(self) -> Uuid {
        self.uuid(Kind::ClusterUuid, 0)
    }

    /// Node GUID of an InfiniBand adapter, under NVIDIA's (Mellanox) OUI.
    #[must_use]
    pub fn hca_guid(self, tray: TrayIndex, hca: HcaIndex) -> u64 {
        under_mellanox(self.number(Kind::HcaGuid, position(tray, hca.0)))
    }

    /// Node GUID of an NVSwitch chip.
    #[must_use]
    pub fn switch_guid(self, switch: SwitchIndex) -> u64 {
        under_mellanox(self.number(Kind::SwitchGuid, u64::from(switch.0)))
    }

    /// Node GUID of the `nth` InfiniBand switch of the rack (leaves first, then spines).
    #[must_use]
    pub fn ib_switch_guid(self, nth: u16) -> u64 {
        under_mellanox(self.number(Kind::SwitchGuid, 0x1_0000 + u64::from(nth)))
    }

    /// Serial of a switch tray, thirteen digits.
    #[must_use]
    pub fn switch_serial(self, switch_tray: u16) -> String {
        self.serial(Kind::SwitchSerial, u64::from(switch_tray), 167)
    }

    /// A number in 0..1000 that belongs to this GPU alone: where in a range its idle power and temperature sit.
    #[must_use]
    pub fn variation_milli(self, tray: TrayIndex, gpu: GpuIndex) -> u32 {
        (self.number(Kind::Variation, position(tray, gpu.0)) % 1000) as u32
    }

    fn number(self, kind: Kind, place: u64) -> u64 {
        mix(mix(self.0 ^ mix(kind as u64)) ^ place)
    }

    fn uuid(self, kind: Kind, place: u64) -> Uuid {
        let high = self.number(kind, place);
        let low = mix(high ^ 0x5851_f42d_4c95_7f2d);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        bytes[6] = (bytes[6] & 0x0f) | 0x40; // version 4
        bytes[8] = (bytes[8] & 0x3f) | 0x80; // variant 1
        Uuid(bytes)
    }

    /// Three digits of kind, then ten derived ones.
    fn serial(self, kind: Kind, place: u64, prefix: u32) -> String {
        format!("{prefix:03}{:010}", self.number(kind, place) % 10_000_000_000)
    }
}

fn position(tray: TrayIndex, within: u8) -> u64 {
    (u64::from(tray.0) << 8) | u64::from(within)
}

fn under_mellanox(number: u64) -> u64 {
    0xb83f_d200_0000_0000 | (number & 0xff_ffff_ffff)
}

/// One step of splitmix64: a stable, well-mixed bijection on 64 bits.
const fn mix(number: u64) -> u64 {
    let z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_two_gpus_of_a_superchip_share_a_serial_and_nothing_else() {
        let gpus: Vec<_> = (0..4).map(|gpu| Seed(7).gpu(TrayIndex(0), GpuIndex(gpu), 2)).collect();
        assert_eq!(gpus[0].serial, gpus[1].serial);
        assert_eq!(gpus[2].serial, gpus[3].serial);
        assert_ne!(gpus[1].serial, gpus[2].serial);
        assert_eq!(gpus[0].serial.len(), 13);
        let uuids: BTreeSet<_> = gpus.iter().map(|gpu| gpu.uuid).collect();
        let pdis: BTreeSet<_> = gpus.iter().map(|gpu| gpu.pdi).collect();
        assert_eq!((uuids.len(), pdis.len()), (4, 4));
    }

    #[test]
    fn a_uuid_is_shaped_as_version_4() {
        for gpu in 0..64 {
            let text = Seed(u64::from(gpu)).gpu(TrayIndex(3), GpuIndex(gpu), 2).uuid.to_string();
            assert_eq!(text.as_bytes()[14], b'4');
            assert!(b"89ab".contains(&text.as_bytes()[19]));
        }
    }

    #[test]
    fn identity_follows_from_the_seed_alone() {
        assert_eq!(Seed(1).gpu(TrayIndex(0), GpuIndex(0), 2), Seed(1).gpu(TrayIndex(0), GpuIndex(0), 2));
        assert_ne!(Seed(1).cluster_uuid(), Seed(2).cluster_uuid());
        assert_ne!(Seed(1).tray(TrayIndex(0)).board_serial, Seed(1).tray(TrayIndex(1)).board_serial);
        assert_eq!(Seed(1).tray(TrayIndex(0)).chassis_serial, Seed(1).tray(TrayIndex(1)).chassis_serial);
    }

    #[test]
    fn a_released_identity_never_moves() {
        let gpu = Seed(1).gpu(TrayIndex(0), GpuIndex(0), 2);
        assert_eq!(gpu.uuid.to_string(), "5775264a-9a7e-4b09-ac64-66bfc96a6621");
    }
}
