//! Matrix layouts, matmul descriptors and preferences: their attributes and defaults.
//! It checks no shape: `plan` does.

use crate::descriptor::{Desc, attributes};
use ghost_abi::{MaybeOut, Out, OutList, Plain, record};
use ghost_blas::{ComputeType, CublasLt, DataType, Error, Ptr};

ghost_abi::rows! { CublasLt;
    fn cublasLtMatrixLayoutInit_internal(layout: Desc<Layout>, size: usize, kind: DataType, rows: u64, columns: u64, ld: i64) => init_layout;
    fn cublasLtMatrixLayoutCreate(layout: Out<Desc<Layout>>, kind: DataType, rows: u64, columns: u64, ld: i64) => create_layout;
    fn cublasLtGroupedMatrixLayoutInit_internal(layout: Desc<Layout>, size: usize, kind: DataType, groups: i32, rows: Ptr<u8>, columns: Ptr<u8>, ld: Ptr<u8>) => init_grouped;
    fn cublasLtGroupedMatrixLayoutCreate(layout: Out<Desc<Layout>>, kind: DataType, groups: i32, rows: Ptr<u8>, columns: Ptr<u8>, ld: Ptr<u8>) => create_grouped;
    fn cublasLtMatrixLayoutDestroy(layout: Desc<Layout>) => destroy_layout;
    fn cublasLtMatrixLayoutSetAttribute(layout: Desc<Layout>, id: i32, value: Ptr<u8>, bytes: usize) => set_layout;
    fn cublasLtMatrixLayoutGetAttribute(layout: Desc<Layout>, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) => get_layout;
    fn cublasLtMatmulDescInit_internal(matmul: Desc<Matmul>, size: usize, compute: ComputeType, scale: DataType) => init_matmul;
    fn cublasLtMatmulDescCreate(matmul: Out<Desc<Matmul>>, compute: ComputeType, scale: DataType) => create_matmul;
    fn cublasLtMatmulDescDestroy(matmul: Desc<Matmul>) => destroy_matmul;
    fn cublasLtMatmulDescSetAttribute(matmul: Desc<Matmul>, id: i32, value: Ptr<u8>, bytes: usize) => set_matmul;
    fn cublasLtMatmulDescGetAttribute(matmul: Desc<Matmul>, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) => get_matmul;
    fn cublasLtMatmulPreferenceInit_internal(preference: Desc<Preference>, size: usize) => init_preference;
    fn cublasLtMatmulPreferenceCreate(preference: Out<Desc<Preference>>) => create_preference;
    fn cublasLtMatmulPreferenceDestroy(preference: Desc<Preference>) => destroy_preference;
    fn cublasLtMatmulPreferenceSetAttribute(preference: Desc<Preference>, id: i32, value: Ptr<u8>, bytes: usize) => set_preference;
    fn cublasLtMatmulPreferenceGetAttribute(preference: Desc<Preference>, id: i32, value: OutList<u8>, bytes: usize, written: MaybeOut<usize>) => get_preference;
}

/// `CUBLASLT_BATCH_MODE_STRIDED`, `_POINTER_ARRAY` and `_GROUPED`.
pub mod batch_mode {
    pub const STRIDED: u32 = 0;
    pub const POINTERS: u32 = 1;
    pub const GROUPED: u32 = 2;
}

record! {
    /// What `cublasLtMatrixLayout_t` points to; the header gives its size.
    pub struct Layout: 112 bytes {
        pub(crate) tag: u64,
        pub kind: i32,
        pub order: i32,
        pub rows: u64,
        pub columns: u64,
        pub ld: i64,
        pub batch: i32,
        pub batch_mode: u32,
        pub stride: i64,
        pub plane_offset: i64,
        pub rows_array: u64,
        pub columns_array: u64,
        pub ld_array: u64,
        pub sizes_width: i32,
        pub ld_width: i32,
        pub(crate) spare: [u64; 2],
    }
}
attributes! { Layout, u64::from_le_bytes(*b"gh.layou");
    0: kind, 1: order, 2: rows, 3: columns, 4: ld, 5: batch, 6: stride, 7: plane_offset, 8: batch_mode,
    9: rows_array, 10: columns_array, 11: ld_array, 12: sizes_width, 13: ld_width,
}

impl Default for Layout {
    fn default() -> Self {
        Layout { tag: <Layout as crate::descriptor::Described>::TAG, batch: 1, ..Layout::zeroed() }
    }
}

impl Layout {
    /// One matrix, column-major.
    pub fn of(kind: DataType, rows: u64, columns: u64, ld: i64) -> Layout {
        Layout { kind: kind.0, rows, columns, ld, ..Layout::default() }
    }

    fn grouped(kind: DataType, groups: i32, arrays: [Ptr<u8>; 3]) -> Layout {
        let [rows_array, columns_array, ld_array] = arrays.map(|array| array.address());
        let shape = Layout { rows_array, columns_array, ld_array, ..Layout::default() };
        Layout { kind: kind.0, batch: groups, batch_mode: batch_mode::GROUPED, ..shape }
    }
}

record! {
    /// What `cublasLtMatmulDesc_t` points to.
    pub struct Matmul: 256 bytes {
        pub(crate) tag: u64,
        pub compute: i32,
        pub scale: i32,
        pub pointer_mode: i32,
        pub transa: i32,
        pub transb: i32,
        pub transc: i32,
        pub fill: i32,
        pub epilogue: u32,
        pub bias: u64,
        pub bias_stride: i64,
        pub aux: u64,
        pub aux_ld: i64,
        pub aux_stride: i64,
        pub alpha_vector_stride: i64,
        pub a_scale: u64,
        pub b_scale: u64,
        pub c_scale: u64,
        pub d_scale: u64,
        pub amax_d: u64,
        pub aux_scale: u64,
        pub aux_amax: u64,
        pub d_out_scale: u64,
        pub emulation: u64,
        pub alpha_stride: i64,
        pub beta_stride: i64,
        pub sm_count_target: i32,
        pub aux_kind: i32,
        pub bias_kind: i32,
        pub a_scale_mode: i32,
        pub b_scale_mode: i32,
        pub c_scale_mode: i32,
        pub d_scale_mode: i32,
        pub aux_scale_mode: i32,
        pub d_out_scale_mode: i32,
        pub fast_accumulation: i8,
        pub(crate) spare: [u8; 3],
        pub(crate) spare_words: [u64; 5],
    }
}
attributes! { Matmul, u64::from_le_bytes(*b"gh.matmu");
    0: compute, 1: scale, 2: pointer_mode, 3: transa, 4: transb, 5: transc, 6: fill, 7: epilogue, 8: bias,
    10: bias_stride, 11: aux, 12: aux_ld, 13: aux_stride, 14: alpha_vector_stride, 15: sm_count_target,
    17: a_scale, 18: b_scale, 19: c_scale, 20: d_scale, 21: amax_d, 22: aux_kind, 23: aux_scale, 24: aux_amax,
    25: fast_accumulation, 26: bias_kind, 31: a_scale_mode, 32: b_scale_mode, 33: c_scale_mode, 34: d_scale_mode,
    35: aux_scale_mode, 36: d_out_scale, 37: d_out_scale_mode, 38: emulation, 39: alpha_stride, 40: beta_stride,
}

impl Default for Matmul {
    fn default() -> Self {
        /// `CUBLAS_FILL_MODE_FULL`.
        const FULL: i32 = 2;
        /// `CUBLASLT_EPILOGUE_DEFAULT`.
        const PLAIN: u32 = 1;
        let tag = <Matmul as crate::descriptor::Described>::TAG;
        Matmul { tag, fill: FULL, epilogue: PLAIN, aux_kind: -1, bias_kind: -1, ..Matmul::zeroed() }
    }
}

impl Matmul {
    /// A plain product.
    pub fn of(compute: ComputeType, scale: DataType) -> Matmul {
        Matmul { compute: compute.0, scale: scale.0, ..Matmul::default() }
    }
}

record! {
    /// What `cublasLtMatmulPreference_t` points to.
    pub struct Preference: 96 bytes {
        pub(crate) tag: u64,
        pub workspace_bytes: u64,
        pub implementations: u64,
        pub search: u32,
        pub reductions: u32,
        pub alignment_a: u32,
        pub alignment_b: u32,
        pub alignment_c: u32,
        pub alignment_d: u32,
        pub waves: f32,
        pub average_depth: u32,
        pub average_rows: u32,
        pub average_columns: u32,
        pub(crate) spare: [u64; 4],
    }
}
attributes! { Preference, u64::from_le_bytes(*b"gh.prefe");
    0: search, 1: workspace_bytes, 3: reductions, 9: waves, 12: implementations, 13: average_depth,
    14: average_rows, 15: average_columns, 5: alignment_a, 6: alignment_b, 7: alignment_c, 8: alignment_d,
}

impl Default for Preference {
    fn default() -> Self {
        let tag = <Preference as crate::descriptor::Described>::TAG;
        /// Bytes that buffers are aligned to unless the caller says less.
        const ALIGNED: u32 = 256;
        let limits = Preference { implementations: u64::MAX, reductions: 7, ..Preference::zeroed() };
        let aligned = Preference { alignment_a: ALIGNED, alignment_b: ALIGNED, alignment_c: ALIGNED, ..limits };
        Preference { tag, alignment_d: ALIGNED, ..aligned }
    }
}

/// `Init` needs a known type; rows, columns and ld are checked where they are used.
fn known(kind: DataType) -> Result<(), Error> {
    kind.bits().map(|_| ()).ok_or(Error::InvalidValue)
}

fn init_layout(
    layout: Desc<Layout>,
    size: usize,
    kind: DataType,
    rows: u64,
    columns: u64,
    ld: i64,
) -> Result<(), Error> {
    known(kind)?;
    layout.init(size, Layout::of(kind, rows, columns, ld))
}

fn create_layout(layout: Out<Desc<Layout>>, kind: DataType, rows: u64, columns: u64, ld: i64) -> Result<(), Error> {
    layout.check()?;
    known(kind)?;
    Ok(layout.set(Desc::create(Layout::of(kind, rows, columns, ld)))?)
}

fn init_grouped(
    layout: Desc<Layout>,
    size: usize,
    kind: DataType,
    groups: i32,
    rows: Ptr<u8>,
    columns: Ptr<u8>,
    ld: Ptr<u8>,
) -> Result<(), Error> {
    known(kind)?;
    layout.init(size, Layout::grouped(kind, groups, [rows, columns, ld]))
}

fn create_grouped(
    layout: Out<Desc<Layout>>,
    kind: DataType,
    groups: i32,
    rows: Ptr<u8>,
    columns: Ptr<u8>,
    ld: Ptr<u8>,
) -> Result<(), Error> {
    layout.check()?;
    known(kind)?;
    Ok(layout.set(Desc::create(Layout::grouped(kind, groups, [rows, columns, ld])))?)
}

fn init_matmul(matmul: Desc<Matmul>, size: usize, compute: ComputeType, scale: DataType) -> Result<(), Error> {
    matmul.init(size, Matmul::of(compute, scale))
}

fn create_matmul(matmul: Out<Desc<Matmul>>, compute: ComputeType, scale: DataType) -> Result<(), Error> {
    matmul.check()?;
    if !compute.is_known() {
        return Err(Error::InvalidValue);
    }
    Ok(matmul.set(Desc::create(Matmul::of(compute, scale)))?)
}

fn init_preference(preference: Desc<Preference>, size: usize) -> Result<(), Error> {
    preference.init(size, Preference::default())
}

fn create_preference(preference: Out<Desc<Preference>>) -> Result<(), Error> {
    preference.check()?;
    Ok(preference.set(Desc::create(Preference::default()))?)
}

/// The three functions every kind of descriptor has.
macro_rules! common {
    ($($kind:ident $destroy:ident $set:ident $get:ident;)*) => { $(
        fn $destroy(descriptor: Desc<$kind>) -> Result<(), Error> {
            descriptor.destroy()
        }

        fn $set(descriptor: Desc<$kind>, id: i32, value: Ptr<u8>, bytes: usize) -> Result<(), Error> {
            descriptor.set(id, value, bytes)
        }

        fn $get(
            descriptor: Desc<$kind>,
            id: i32,
            value: OutList<u8>,
            bytes: usize,
            written: MaybeOut<usize>,
        ) -> Result<(), Error> {
            descriptor.get(id, value, bytes, written)
        }
    )* };
}
pub(crate) use common;

common! {
    Layout destroy_layout set_layout get_layout;
    Matmul destroy_matmul set_matmul get_matmul;
    Preference destroy_preference set_preference get_preference;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::Described;

    fn attributes_of<D: Described>(numbers: usize) {
        let all = D::ATTRIBUTES;
        assert_eq!(all.len(), numbers);
        for (index, one) in all.iter().enumerate() {
            assert!(one.offset + one.bytes <= size_of::<D>() && one.offset >= 8, "{one:?}");
            let clash = all[..index].iter().find(|other| {
                other.id == one.id || (other.offset < one.offset + one.bytes && one.offset < other.offset + other.bytes)
            });
            assert!(clash.is_none(), "{one:?} and {clash:?}");
        }
    }

    #[test]
    fn no_two_attributes_share_a_number_or_a_place() {
        attributes_of::<Layout>(14);
        attributes_of::<Matmul>(35);
        attributes_of::<Preference>(12);
    }

    #[test]
    fn fresh_descriptors_hold_the_headers_defaults() {
        let matmul = Matmul::fresh();
        assert_eq!((matmul.fill, matmul.epilogue, matmul.aux_kind, matmul.bias_kind), (2, 1, -1, -1));
        let preference = Preference::fresh();
        assert_eq!((preference.alignment_d, preference.reductions, preference.implementations), (256, 7, u64::MAX));
        assert_eq!(Layout::fresh().batch, 1);
    }
}
