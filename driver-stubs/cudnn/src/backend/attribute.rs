//! Which attribute belongs to which descriptor, what type it has, and which tensors an operation writes.
//! It stores nothing. Numbers are those of cudnn_graph.h.

use std::ops::RangeInclusive;

/// `cudnnBackendAttributeType_t`.
pub mod kind {
    pub const HANDLE: i32 = 0;
    pub const DATA_TYPE: i32 = 1;
    pub const BOOLEAN: i32 = 2;
    pub const INT64: i32 = 3;
    pub const FLOAT: i32 = 4;
    pub const DOUBLE: i32 = 5;
    pub const VOID_PTR: i32 = 6;
    pub const DESCRIPTOR: i32 = 15;
    pub const INT32: i32 = 23;
    pub const CHAR: i32 = 24;
    pub const FRACTION: i32 = 26;

    /// Bytes of one element of a type; `None` for no type.
    pub fn bytes(of: i32) -> Option<usize> {
        match of {
            BOOLEAN | CHAR => Some(1),
            HANDLE | INT64 | DOUBLE | VOID_PTR | DESCRIPTOR => Some(8),
            FRACTION => Some(16),
            0..=32 => Some(4),
            _ => None,
        }
    }
}

/// `cudnnBackendDescriptorType_t`, those that code asks for.
pub mod descriptor {
    pub const ENGINE: i32 = 2;
    pub const ENGINE_CONFIG: i32 = 3;
    pub const HEURISTICS: i32 = 4;
    pub const PLAN: i32 = 5;
    pub const CONVOLUTION_FORWARD: i32 = 10;
    pub const CONVOLUTION_BACKWARD_FILTER: i32 = 11;
    pub const CONVOLUTION_BACKWARD_DATA: i32 = 12;
    pub const POINTWISE: i32 = 13;
    pub const GRAPH: i32 = 15;
    pub const VARIANT_PACK: i32 = 16;
    pub const TENSOR: i32 = 17;
    pub const MATMUL: i32 = 19;
    pub const REDUCTION: i32 = 22;
    pub const NORM_FORWARD: i32 = 29;
    pub const NORM_BACKWARD: i32 = 30;
    pub const SDPA_FORWARD: i32 = 41;
    pub const MOE: i32 = 42;
    pub const SDPA_BACKWARD: i32 = 43;
    pub const BAND_MASK: i32 = 44;
    pub const SOFTMAX: i32 = 45;
    pub const MOE_BACKWARD: i32 = 48;
    /// The highest number there is.
    pub const LAST: i32 = 50;
}

/// More elements than any attribute has: a graph's operations or a pack's tensors are thousands at most.
const MANY: i64 = 1 << 16;

/// What an attribute may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// One element of a type.
    One(i32),
    /// Any number of elements of a type.
    Many(i32),
    /// One float or double.
    Scalar,
    /// Integers or fractions.
    Fractions,
    /// One integer or one tensor.
    IntegerOrDescriptor,
    /// Anything.
    Any,
    /// Read only: nobody sets it.
    Answer(i32),
}

impl Want {
    /// Whether `count` elements of a type may be set.
    pub fn accepts(self, of: i32, count: i64) -> bool {
        match self {
            Want::One(wanted) => of == wanted && count == 1,
            Want::Many(wanted) => of == wanted && (0..=MANY).contains(&count),
            Want::Scalar => matches!(of, kind::FLOAT | kind::DOUBLE) && count == 1,
            Want::Fractions => matches!(of, kind::INT64 | kind::FRACTION) && (0..=MANY).contains(&count),
            Want::IntegerOrDescriptor => matches!(of, kind::INT64 | kind::DESCRIPTOR) && count == 1,
            Want::Any => (0..=MANY).contains(&count),
            Want::Answer(_) => false,
        }
    }

    /// Whether it may be read as a type.
    pub fn reads_as(self, of: i32) -> bool {
        match self {
            Want::One(wanted) | Want::Many(wanted) | Want::Answer(wanted) => of == wanted,
            Want::Scalar => matches!(of, kind::FLOAT | kind::DOUBLE),
            Want::Fractions => matches!(of, kind::INT64 | kind::FRACTION),
            Want::IntegerOrDescriptor => matches!(of, kind::INT64 | kind::DESCRIPTOR),
            Want::Any => true,
        }
    }
}

/// What an attribute of a descriptor may hold; `None` when the descriptor has no such attribute.
pub fn want(descriptor: i32, name: i32) -> Option<Want> {
    let row = ROWS.iter().find(|(owner, names, _)| *owner == descriptor && names.contains(&name));
    row.map(|row| row.2)
}

/// Attributes a descriptor must have before it is finalized.
pub fn required(descriptor: i32) -> &'static [i32] {
    match descriptor {
        descriptor::ENGINE => &[1300, 1301],
        descriptor::ENGINE_CONFIG => &[300],
        descriptor::HEURISTICS => &[200, 201],
        descriptor::PLAN => &[401],
        descriptor::CONVOLUTION_FORWARD => &[702, 703, 704, 705],
        descriptor::CONVOLUTION_BACKWARD_DATA => &[708, 709, 710, 711],
        descriptor::CONVOLUTION_BACKWARD_FILTER => &[714, 715, 716, 717],
        descriptor::POINTWISE => &[750],
        descriptor::GRAPH => &[801],
        descriptor::VARIANT_PACK => &[1000, 1001],
        descriptor::TENSOR => &[901, 902, 903, 906],
        descriptor::MATMUL => &[1520, 1521, 1522],
        descriptor::REDUCTION => &[1610, 1611],
        descriptor::NORM_FORWARD => &[2000, 2001, 2002, 2013],
        descriptor::NORM_BACKWARD => &[2100, 2101, 2104, 2109],
        descriptor::SDPA_FORWARD => &[2800, 2801, 2802, 2803],
        descriptor::SDPA_BACKWARD => &[2851, 2852, 2853, 2854, 2859, 2860, 2861, 2862],
        _ => &[],
    }
}

/// Whether an operation writes the tensor under this attribute. A norm's statistics are written in training only.
pub fn is_output(name: i32) -> bool {
    OUTPUTS.iter().any(|names| names.contains(&name))
}

const OUTPUTS: &[RangeInclusive<i32>] = &[
    705..=705,
    710..=710,
    715..=715,
    753..=753,
    756..=756,
    773..=774,
    788..=793,
    1522..=1522,
    1611..=1611,
    1626..=1630,
    1711..=1712,
    1720..=1720,
    1803..=1803,
    1904..=1904,
    1951..=1951,
    2003..=2004,
    2011..=2013,
    2107..=2109,
    2201..=2201,
    2251..=2251,
    2271..=2271,
    2310..=2310,
    2501..=2502,
    2602..=2602,
    2803..=2804,
    2817..=2817,
    2828..=2829,
    2859..=2861,
    2864..=2864,
    2905..=2905,
    2953..=2953,
    3006..=3006,
    3101..=3104,
    3201..=3201,
    3301..=3301,
    3401..=3401,
    3411..=3411,
];

const TENSOR: Want = Want::One(kind::DESCRIPTOR);
const TENSORS: Want = Want::Many(kind::DESCRIPTOR);
const PRECISION: Want = Want::One(kind::DATA_TYPE);
const INTEGER: Want = Want::One(kind::INT64);
const INTEGERS: Want = Want::Many(kind::INT64);

/// Descriptor, its attributes, what they hold. The first row that fits counts.
const ROWS: &[(i32, RangeInclusive<i32>, Want)] = &[
    (0, 0..=0, Want::One(14)),
    (0, 1..=1, PRECISION),
    (0, 2..=2, Want::One(10)),
    (0, 3..=8, Want::Scalar),
    (0, 9..=9, INTEGER),
    (1, 100..=100, PRECISION),
    (1, 101..=101, Want::One(7)),
    (1, 102..=105, INTEGERS),
    (1, 106..=106, INTEGER),
    (2, 1300..=1300, TENSOR),
    (2, 1301..=1301, INTEGER),
    (2, 1302..=1302, Want::Answer(kind::DESCRIPTOR)),
    (2, 1303..=1303, Want::Answer(11)),
    (2, 1304..=1304, Want::Answer(kind::DESCRIPTOR)),
    (2, 1305..=1305, Want::Answer(19)),
    (2, 1306..=1306, Want::One(kind::INT32)),
    (2, 1307..=1307, TENSOR),
    (2, 1308..=1308, Want::One(kind::BOOLEAN)),
    (3, 300..=300, TENSOR),
    (3, 301..=301, Want::Answer(kind::DESCRIPTOR)),
    (3, 302..=302, TENSORS),
    (3, 303..=303, Want::Answer(kind::INT64)),
    (3, 304..=304, Want::Answer(kind::INT32)),
    (4, 200..=200, Want::One(8)),
    (4, 201..=201, TENSOR),
    (4, 202..=202, Want::Answer(kind::DESCRIPTOR)),
    (4, 203..=203, Want::One(kind::INT32)),
    (4, 204..=204, TENSOR),
    (5, 400..=400, Want::One(kind::HANDLE)),
    (5, 401..=401, TENSOR),
    (5, 402..=402, Want::Answer(kind::INT64)),
    (5, 403..=403, Want::Answer(kind::INT64)),
    (5, 404..=404, INTEGERS),
    (5, 406..=407, TENSOR),
    (6, 500..=501, Want::Answer(kind::INT64)),
    (6, 502..=502, Want::Answer(kind::INT64)),
    (6, 503..=503, Want::Answer(13)),
    (7, 600..=600, Want::One(9)),
    (7, 601..=601, INTEGER),
    (8, 1200..=1200, Want::Answer(9)),
    (8, 1201..=1203, Want::Answer(kind::INT64)),
    (9, 1100..=1100, Want::Answer(kind::INT64)),
    (9, 1101..=1101, Want::Answer(12)),
    (10, 700..=701, Want::Scalar),
    (10, 702..=705, TENSOR),
    (11, 712..=713, Want::Scalar),
    (11, 714..=717, TENSOR),
    (12, 706..=707, Want::Scalar),
    (12, 708..=711, TENSOR),
    (13, 754..=755, Want::Scalar),
    (13, 750..=758, TENSOR),
    (14, 770..=770, Want::One(16)),
    (14, 771..=771, PRECISION),
    (14, 772..=774, TENSOR),
    (15, 800..=800, Want::One(kind::HANDLE)),
    (15, 801..=801, TENSORS),
    (15, 802..=802, Want::Answer(kind::INT64)),
    (15, 803..=805, Want::One(kind::BOOLEAN)),
    (15, 806..=806, Want::One(32)),
    (16, 1000..=1000, INTEGERS),
    (16, 1001..=1001, Want::Many(kind::VOID_PTR)),
    (16, 1002..=1002, TENSORS),
    (16, 1003..=1003, Want::One(kind::VOID_PTR)),
    (16, 1010..=1010, INTEGERS),
    (16, 1011..=1012, Want::Any),
    (17, 900..=900, INTEGER),
    (17, 901..=901, PRECISION),
    (17, 902..=903, INTEGERS),
    (17, 904..=906, INTEGER),
    (17, 907..=908, Want::One(kind::BOOLEAN)),
    (17, 909..=909, Want::One(20)),
    (17, 910..=910, Want::Any),
    (17, 913..=913, TENSOR),
    (17, 914..=914, INTEGER),
    (18, 1500..=1500, PRECISION),
    (18, 1503..=1503, Want::Scalar),
    (19, 1524..=1524, INTEGER),
    (19, 1520..=1527, TENSOR),
    (20, 780..=780, Want::One(17)),
    (20, 781..=781, PRECISION),
    (20, 782..=796, TENSOR),
    (21, 1600..=1600, Want::One(18)),
    (21, 1601..=1601, PRECISION),
    (21, 1602..=1602, Want::One(kind::BOOLEAN)),
    (22, 1610..=1613, TENSOR),
    (23, 1620..=1620, PRECISION),
    (23, 1621..=1630, TENSOR),
    (24, 1700..=1700, Want::One(21)),
    (24, 1701..=1701, PRECISION),
    (24, 1702..=1702, INTEGER),
    (24, 1703..=1706, Want::Fractions),
    (24, 1707..=1707, Want::One(10)),
    (24, 1708..=1708, Want::One(22)),
    (25, 1713..=1714, Want::Scalar),
    (25, 1710..=1716, TENSOR),
    (26, 1723..=1724, Want::Scalar),
    (26, 1720..=1727, TENSOR),
    (27, 1800..=1800, INTEGER),
    (27, 1801..=1801, TENSORS),
    (27, 1802..=1802, INTEGER),
    (27, 1803..=1803, TENSOR),
    (28, 1900..=1900, Want::One(25)),
    (28, 1901..=1901, TENSOR),
    (28, 1902..=1902, INTEGER),
    (28, 1903..=1904, TENSOR),
    (29, 2000..=2000, Want::One(27)),
    (29, 2001..=2001, Want::One(28)),
    (29, 2002..=2013, TENSOR),
    (29, 2014..=2014, TENSORS),
    (30, 2100..=2100, Want::One(27)),
    (30, 2101..=2109, TENSOR),
    (30, 2110..=2110, TENSORS),
    (31, 2200..=2201, TENSOR),
    (31, 2202..=2202, Want::One(31)),
    (32, 2300..=2300, Want::One(29)),
    (32, 2301..=2305, Want::Scalar),
    (33, 2311..=2311, Want::IntegerOrDescriptor),
    (33, 2310..=2313, TENSOR),
    (34, 2400..=2400, TENSOR),
    (34, 2401..=2401, Want::Answer(kind::BOOLEAN)),
    (35, 1950..=1953, TENSOR),
    (36, 2500..=2502, TENSOR),
    (36, 2503..=2503, PRECISION),
    (36, 2504..=2504, Want::Many(kind::INT32)),
    (37, 2600..=2602, TENSOR),
    (37, 2603..=2603, PRECISION),
    (37, 2604..=2604, Want::Many(kind::INT32)),
    (37, 2605..=2605, Want::One(kind::BOOLEAN)),
    (38, 2700..=2700, Want::One(kind::INT32)),
    (38, 2701..=2701, Want::One(kind::HANDLE)),
    (39, 2250..=2251, TENSOR),
    (39, 2252..=2254, INTEGER),
    (39, 2255..=2255, Want::Scalar),
    (39, 2256..=2257, TENSOR),
    (40, 2270..=2271, TENSOR),
    (40, 2272..=2274, INTEGER),
    (40, 2275..=2275, Want::Scalar),
    (40, 2276..=2276, INTEGER),
    (41, 2811..=2811, TENSORS),
    (41, 2812..=2813, INTEGERS),
    (41, 2818..=2818, Want::Scalar),
    (41, 2819..=2819, Want::One(kind::BOOLEAN)),
    (41, 2800..=2829, TENSOR),
    (42, 2900..=2900, Want::One(30)),
    (42, 2901..=2901, PRECISION),
    (42, 2902..=2907, TENSOR),
    (42, 2908..=2908, Want::One(kind::INT32)),
    (43, 2865..=2866, INTEGER),
    (43, 2867..=2867, TENSORS),
    (43, 2868..=2869, INTEGERS),
    (43, 2851..=2864, TENSOR),
    (44, 3007..=3007, Want::One(14)),
    (44, 3000..=3009, TENSOR),
    (45, 3100..=3105, TENSOR),
    (46, 3200..=3201, TENSOR),
    (46, 3202..=3202, INTEGERS),
    (47, 3300..=3301, TENSOR),
    (47, 3302..=3304, INTEGERS),
    (48, 2951..=2951, PRECISION),
    (48, 2952..=2955, TENSOR),
    (49, 3400..=3402, TENSOR),
    (49, 3403..=3404, Want::Any),
    (50, 3410..=3412, TENSOR),
    (50, 3413..=3414, Want::Any),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_there_can_be_set() {
        for of in 0..=descriptor::LAST {
            for &name in required(of) {
                let want = want(of, name).unwrap_or_else(|| panic!("descriptor {of} has no attribute {name}"));
                assert!(!matches!(want, Want::Answer(_)), "descriptor {of}, attribute {name}");
            }
        }
    }

    #[test]
    fn every_output_is_a_tensor_of_some_operation() {
        for name in OUTPUTS.iter().cloned().flatten() {
            let rows: Vec<_> = ROWS.iter().filter(|(_, names, _)| names.contains(&name)).collect();
            assert!(rows.iter().any(|row| row.2 == TENSOR), "attribute {name}");
        }
    }

    #[test]
    fn type_and_count_are_part_of_an_attribute() {
        let dims = want(descriptor::TENSOR, 902).expect("dimensions");
        assert!(dims.accepts(kind::INT64, 4) && !dims.accepts(kind::INT32, 4) && !dims.accepts(kind::INT64, -1));
        let precision = want(1, 100).expect("compute type");
        assert!(precision.accepts(kind::DATA_TYPE, 1) && !precision.accepts(kind::DATA_TYPE, 2));
        assert_eq!((want(1, 902), want(51, 0)), (None, None));
        assert!(!want(4, 202).expect("results").accepts(kind::DESCRIPTOR, 1));
    }
}
