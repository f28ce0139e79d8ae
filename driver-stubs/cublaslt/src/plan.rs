//! How a matmul descriptor and four layouts become one product, and what it writes beside D.
//! Planning is pure: it follows no pointer and needs no driver.

use crate::descriptors::{Layout, Matmul, batch_mode};
use ghost_blas::{ComputeType, DataType, Error, Gemm, Matrix};
use ghost_table::Range;

/// `CUBLASLT_ORDER_ROW`; `CUBLASLT_ORDER_COL` is 0, the tiled orders are above.
const ROW_MAJOR: i32 = 1;

/// Bits of a `cublasLtEpilogue_t`.
mod epilogue {
    pub const RELU: u32 = 2;
    pub const GELU: u32 = 32;
    pub const AUX: u32 = 128;
    pub const BIAS_GRADIENT: u32 = 16;
    pub const BIAS_GRADIENT_A: u32 = 256;
    pub const BIAS_GRADIENT_B: u32 = 512;
}

/// A product with layouts: what to price, and what is written.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Its output's address is 0: see [`Plan::at`].
    pub gemm: Gemm,
    /// How D's address is meant.
    pub batch_mode: u32,
    /// Stretches written beside D: auxiliary output, bias gradient, largest value.
    pub beside: [Option<Range>; 3],
}

impl Plan {
    /// The product with D at `address`.
    pub fn at(&self, address: u64) -> Gemm {
        Gemm { output: Matrix { address, ..self.gemm.output }, ..self.gemm }
    }

    /// How many waves of 128 x 256 tiles so many multiprocessors need.
    pub fn waves(&self, multiprocessors: u32) -> f32 {
        let Gemm { m, n, batch, .. } = self.gemm;
        let tiles = m.div_ceil(128).saturating_mul(n.div_ceil(256)).saturating_mul(batch);
        tiles as f32 / multiprocessors.max(1) as f32
    }
}

/// Rows and columns of an operand after its transposition.
fn shape(layout: &Layout, transposed: i32) -> Result<[u64; 2], Error> {
    match transposed {
        0 => Ok([layout.rows, layout.columns]),
        1 | 2 => Ok([layout.columns, layout.rows]),
        _ => Err(Error::InvalidValue),
    }
}

/// A matrix as it lies in memory, without its address. The tiled orders have their own rules for `ld`, unchecked here.
fn matrix(layout: &Layout) -> Result<Matrix, Error> {
    let batch = u64::try_from(layout.batch).map_err(|_| Error::InvalidValue)?;
    let ld = u64::try_from(layout.ld).map_err(|_| Error::InvalidValue)?;
    let (minor, major) = match layout.order {
        ROW_MAJOR => (layout.columns, layout.rows),
        _ => (layout.rows, layout.columns),
    };
    if layout.order <= ROW_MAJOR && ld < minor {
        return Err(Error::InvalidValue);
    }
    let kind = DataType(layout.kind);
    Ok(Matrix { address: 0, kind, minor, major, ld, batch, stride: layout.stride })
}

/// Whether cublasLt multiplies these types: `cublasGemmEx`'s table, and the narrow types that only cublasLt takes.
fn multiplies(compute: ComputeType, a: DataType, b: DataType, d: DataType) -> bool {
    use DataType as T;
    let is_eight = |kind| matches!(kind, T::R_8F_E4M3 | T::R_8F_E5M2);
    let is_wide = matches!(d, T::R_16BF | T::R_16F | T::R_32F);
    let in_single = matches!(compute.0, 68 | 69);
    let fast = matches!(compute.0, 74 | 75 | 77) && ComputeType::F32.multiplies(a, b, d);
    let fp8 = in_single && is_eight(a) && is_eight(b) && (a, b) != (T::R_8F_E5M2, T::R_8F_E5M2);
    let fp4 = in_single && (a, b) == (T::R_4F_E2M1, T::R_4F_E2M1);
    let int8 = compute == ComputeType::I32 && (a, b, d) == (T::R_8I, T::R_8I, T::R_8I);
    compute.multiplies(a, b, d) || fast || (fp8 && (is_wide || is_eight(d))) || (fp4 && (is_wide || d == a)) || int8
}

/// Checks the shapes and types and says what is to be done. `layouts` are A, B, C and D.
pub fn plan(matmul: &Matmul, layouts: [&Layout; 4]) -> Result<Plan, Error> {
    let [a, b, c, d] = layouts;
    if layouts.iter().any(|layout| layout.batch_mode == batch_mode::GROUPED) {
        return Err(Error::NotSupported);
    }
    let [m, k] = shape(a, matmul.transa)?;
    let [depth, n] = shape(b, matmul.transb)?;
    let result = [d.rows, d.columns];
    if depth != k || result != [m, n] || shape(c, matmul.transc)? != result {
        return Err(Error::InvalidValue);
    }
    for layout in layouts {
        matrix(layout)?;
    }
    if layouts.iter().any(|layout| layout.batch != d.batch) {
        return Err(Error::InvalidValue);
    }
    let (compute, kinds) = (ComputeType(matmul.compute), [a, b, d].map(|layout| DataType(layout.kind)));
    if !multiplies(compute, kinds[0], kinds[1], kinds[2]) {
        return Err(Error::NotSupported);
    }
    let input = kinds[0].priced().ok_or(Error::NotSupported)?;
    let arithmetic = compute.arithmetic(input).ok_or(Error::NotSupported)?;
    let output = matrix(d)?;
    let gemm = Gemm { m, n, k, batch: output.batch, input, arithmetic, output };
    Ok(Plan { gemm, batch_mode: d.batch_mode, beside: beside(matmul, &gemm)? })
}

/// What the epilogue writes. The type of an auxiliary output or bias is D's unless the descriptor names one.
fn beside(matmul: &Matmul, gemm: &Gemm) -> Result<[Option<Range>; 3], Error> {
    let bits = matmul.epilogue;
    let kind = |named: i32| if named < 0 { gemm.output.kind } else { DataType(named) };
    let is_forward = bits & (epilogue::RELU | epilogue::GELU) != 0;
    let aux = match is_forward && bits & epilogue::AUX != 0 {
        true => Some(auxiliary(matmul, gemm, kind(matmul.aux_kind))?),
        false => None,
    };
    let length = if bits & epilogue::BIAS_GRADIENT_B != 0 { gemm.n } else { gemm.m };
    let gradients = epilogue::BIAS_GRADIENT | epilogue::BIAS_GRADIENT_A | epilogue::BIAS_GRADIENT_B;
    let gradient = match bits & gradients != 0 {
        true if matmul.bias == 0 => return Err(Error::InvalidValue),
        true => {
            let (address, stride) = (matmul.bias, matmul.bias_stride);
            let kind = kind(matmul.bias_kind);
            Matrix { address, kind, minor: length, major: 1, ld: length, batch: gemm.batch, stride }.range()
        }
        false => None,
    };
    let largest = (matmul.amax_d != 0).then(|| Range { address: matmul.amax_d, bytes: DataType::R_32F.bytes(1) });
    Ok([aux.flatten(), gradient, largest])
}

/// The auxiliary output of a forward epilogue: a bit for each element of a ReLU, the input of a GELU.
fn auxiliary(matmul: &Matmul, gemm: &Gemm, kind: DataType) -> Result<Option<Range>, Error> {
    let ld = u64::try_from(matmul.aux_ld).map_err(|_| Error::InvalidValue)?;
    if matmul.aux == 0 || ld < gemm.m {
        return Err(Error::InvalidValue);
    }
    let all = Matrix {
        address: matmul.aux,
        kind,
        minor: gemm.m,
        major: gemm.n,
        ld,
        batch: gemm.batch,
        stride: matmul.aux_stride,
    };
    let is_mask = matmul.epilogue & epilogue::RELU != 0;
    let range = all.range();
    Ok(match kind.bits() {
        Some(bits) if is_mask => range.map(|range| Range { bytes: range.bytes.div_ceil(bits), ..range }),
        _ => range,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ghost_table::Type;

    const BF16: DataType = DataType::R_16BF;

    /// PyTorch's linear layer: row-major weights are column-major transposed ones.
    fn linear() -> (Matmul, [Layout; 4]) {
        let matmul = Matmul { transa: 1, ..Matmul::of(ComputeType::F32, DataType::R_32F) };
        let d = Layout::of(BF16, 64, 32, 64);
        (matmul, [Layout::of(BF16, 16, 64, 16), Layout::of(BF16, 16, 32, 16), d, d])
    }

    fn planned((matmul, layouts): &(Matmul, [Layout; 4])) -> Result<Plan, Error> {
        plan(matmul, layouts.each_ref())
    }

    #[test]
    fn layouts_and_transposes_give_the_shape() {
        let plan = planned(&linear()).expect("good arguments");
        let Gemm { m, n, k, batch, .. } = plan.gemm;
        assert_eq!((m, n, k, batch), (64, 32, 16, 1));
        assert_eq!(plan.at(0x1000).output.range(), Some(Range { address: 0x1000, bytes: 64 * 32 * 2 }));
        assert_eq!((plan.gemm.input, plan.gemm.arithmetic), (Type::Bf16, Type::Bf16));
    }

    #[test]
    fn shapes_that_do_not_meet_are_refused() {
        let mut untransposed = linear();
        untransposed.0.transa = 0;
        let mut other_depth = linear();
        other_depth.1[1] = Layout::of(BF16, 17, 32, 17);
        let mut other_batch = linear();
        other_batch.1[0].batch = 2;
        let mut short_ld = linear();
        short_ld.1[3].ld = 63;
        let mut no_transpose = linear();
        no_transpose.0.transb = 7;
        for bad in [untransposed, other_depth, other_batch, short_ld, no_transpose] {
            assert_eq!(planned(&bad).err(), Some(Error::InvalidValue), "{bad:?}");
        }
    }

    #[test]
    fn a_row_major_result_lies_by_rows() {
        let mut rows = linear();
        for index in [2, 3] {
            rows.1[index] = Layout { order: 1, ld: 40, ..rows.1[index] };
        }
        let range = planned(&rows).expect("good arguments").at(0x1000).output.range();
        assert_eq!(range, Some(Range { address: 0x1000, bytes: (63 * 40 + 32) * 2 }));
    }

    #[test]
    fn narrow_types_are_multiplied_where_the_device_does() {
        let [f8, f8_wide, f4] = [DataType::R_8F_E4M3, DataType::R_8F_E5M2, DataType::R_4F_E2M1];
        assert!(multiplies(ComputeType::F32, f8, f8, BF16) && multiplies(ComputeType::F32, f8, f8_wide, f8));
        assert!(multiplies(ComputeType::F32, f4, f4, BF16));
        assert!(!multiplies(ComputeType::F32, f8_wide, f8_wide, BF16));
        assert!(!multiplies(ComputeType::F32, f8, BF16, BF16));
        assert!(multiplies(ComputeType::I32, DataType::R_8I, DataType::R_8I, DataType::R_32I));
        let mut eight = linear();
        for index in [0, 1] {
            eight.1[index].kind = f8.0;
        }
        assert_eq!(planned(&eight).expect("good arguments").gemm.arithmetic, Type::F8);
    }

    #[test]
    fn a_gelu_keeps_its_input_and_a_relu_a_bit_mask() {
        let mut gelu = linear();
        gelu.0 = Matmul { epilogue: 32 | 128 | 4, aux: 0x9000, aux_ld: 64, ..gelu.0 };
        let beside = planned(&gelu).expect("good arguments").beside;
        assert_eq!(beside, [Some(Range { address: 0x9000, bytes: 64 * 32 * 2 }), None, None]);
        gelu.0.epilogue = 2 | 128;
        let beside = planned(&gelu).expect("good arguments").beside;
        assert_eq!(beside[0], Some(Range { address: 0x9000, bytes: 64 * 32 / 8 }));
        gelu.0.aux = 0;
        assert_eq!(planned(&gelu).err(), Some(Error::InvalidValue));
    }

    #[test]
    fn a_backward_epilogue_reads_the_auxiliary_and_writes_the_bias_gradient() {
        let mut backward = linear();
        backward.0 = Matmul { epilogue: 64 | 128 | 16, aux: 0x9000, aux_ld: 64, bias: 0x8000, ..backward.0 };
        let beside = planned(&backward).expect("good arguments").beside;
        assert_eq!(beside, [None, Some(Range { address: 0x8000, bytes: 64 * 2 }), None]);
        backward.0.epilogue = 512;
        let beside = planned(&backward).expect("good arguments").beside;
        assert_eq!(beside[1], Some(Range { address: 0x8000, bytes: 32 * 2 }));
        backward.0.bias = 0;
        assert_eq!(planned(&backward).err(), Some(Error::InvalidValue));
    }

    #[test]
    fn waves_count_tiles_against_multiprocessors() {
        let plan = planned(&linear()).expect("good arguments");
        assert!((plan.waves(2) - 0.5).abs() < 1e-6);
    }
}
